"""The cell at the beginning of a notebook where students paste parts they wrote earlier."""

import sys
from collections.abc import Callable

from course_utils import own, register
from course_utils.notebook import judge_here


def bring_your_own(*names: str) -> None:
    """Check what was pasted for these parts, print whose is in use, and let the notebook use it.

    Nothing here is graded. A part that fails its check is not used: a stand-in takes its place.
    """
    namespace = sys._getframe(1).f_globals
    for name in names:
        pasted = namespace.get(name)
        if pasted is not None and not _is_the_courses(pasted):
            print(f"{name}: {_tried(name, namespace)}")
        elif own.is_own(name):  # the cell was run again
            print(f"{name}: using yours.")
        else:
            print(f"{name}: using {own.PARTS[name].called}, because you pasted nothing.")
        namespace[name] = own.part(name)


def _is_the_courses(pasted: Callable) -> bool:
    return str(getattr(pasted, "__module__", "")).startswith("course_utils.")


def _tried(name: str, namespace: dict) -> str:
    """Use it if it passes its check; returns what to tell the student."""
    from course_utils.checks import judge

    exercise = own.PARTS[name].exercise
    verdict = judge_here(judge.make_plan(exercise), namespace)
    if verdict.passed:
        own.use(name, namespace[name])
        return f"using yours. It passes its check from notebook {register.exercise(exercise).notebook[:2]}."
    own.forget(name)
    finding = next(finding for finding in verdict.findings if not finding.passed)
    problem = verdict.sentence or finding.message
    if "NameError" in problem:
        problem += "\n   Paste what it calls as well: your helper functions and their imports."
    return f"yours is not right yet, so this uses {own.PARTS[name].called}.\n   {problem}"
