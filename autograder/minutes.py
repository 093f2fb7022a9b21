"""How many minutes a notebook takes: reading it, and doing its exercises."""

import math
import re
from collections.abc import Iterable
from functools import cache

from nbformat import NotebookNode

from autograder.paths import SOURCES
from course_utils import register

WORDS_PER_MINUTE = 200
ROUNDED_TO = 5
WORD = re.compile(r"[^\W\d_][\w'’-]*")


@cache
def minutes(notebook: str) -> int:
    """The minutes of a notebook, from its source. Waiting for training does not count."""
    import jupytext  # it imports Jupyter's server, and grading needs neither

    text = (SOURCES / f"{notebook}.py").read_text(encoding="utf-8")
    return minutes_of(notebook, jupytext.reads(text, fmt="py:percent").cells)


def minutes_of(notebook: str, cells: Iterable[NotebookNode]) -> int:
    """The sum of both, rounded up: all exercises, and every word of the text and the given code.

    What a student writes is not read: cells with an answer or a check have their own minutes.
    """
    words = sum(len(WORD.findall(cell.source)) for cell in cells if "nbgrader" not in cell.metadata)
    working = sum(exercise.minutes for exercise in register.exercises(notebook))
    return ROUNDED_TO * math.ceil((words / WORDS_PER_MINUTE + working) / ROUNDED_TO)
