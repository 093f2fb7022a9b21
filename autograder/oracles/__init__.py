"""Oracles of the exercises for which a loop would already be the answer. Students never get them.

Importing this package registers them with the judge.
"""

import importlib
import importlib.util

from course_utils.checks import judge


def has_oracle(exercise_id: str) -> bool:
    return importlib.util.find_spec(_module(exercise_id)) is not None


def find(exercise_id: str) -> judge.Hidden:
    """The module with the oracle of an exercise that ships without one."""
    return importlib.import_module(_module(exercise_id))


def _module(exercise_id: str) -> str:
    return f"{__name__}.{exercise_id.replace('-', '_')}"


judge.use_oracles(find)
