"""Help that grows: a repeated failure gets more of it, and a pass gets a line of insight.

Counted in the student's kernel alone, for each exercise and mistake; no grade depends on it.
"""

import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

from course_utils import register
from course_utils.checks.forms import forms_of
from course_utils.checks.judge import TOGETHER, Verdict

TEXTS = Path(__file__).with_name("coach.toml")
SECOND, THIRD = 2, 3
NOTHING = {"where": "", "case": "", "passed": "", "forms": {}}

_failures: Counter[tuple[str, str]] = Counter()


def more(verdict: Verdict, namespace: dict) -> list[tuple[str, str]]:
    """What to show below a verdict, as (heading, text); counts the failure."""
    if verdict.passed:
        forget(verdict.exercise)
        line = insight(verdict.exercise, namespace)
        return [("Worth knowing", line)] if line else []
    mistake = (verdict.exercise, _mistake(verdict))
    _failures[mistake] += 1
    return after(_failures[mistake], verdict)


def forget(exercise_id: str) -> None:
    for mistake in [m for m in _failures if m[0] == exercise_id]:
        del _failures[mistake]


def after(times: int, verdict: Verdict) -> list[tuple[str, str]]:
    """The help that the `times`-th failure of one kind gets."""
    shown = []
    if times >= SECOND:
        shown.append(("Where to look", _where(verdict.exercise)))
    if times >= THIRD:
        case = _case(verdict)
        if case:
            shown.append(("A smaller case", case))
    return shown


def insight(exercise_id: str, namespace: dict) -> str:
    """A line that fits the form of the answer, or describes what the code can do now."""
    texts = _texts(exercise_id)
    forms = forms_of(register.exercise(exercise_id).names, namespace)
    fitting = [line for form, line in texts["forms"].items() if form in forms]
    return fitting[0] if fitting else texts["passed"]


def _mistake(verdict: Verdict) -> str:
    if verdict.misconception:
        return verdict.misconception
    first = next(f for f in verdict.findings if not f.passed)
    # An answer that is not written, one that raises an error and one that is wrong fail differently.
    # The numbers in a message differ from try to try.
    said = re.sub(r"[\d.,-]+", "", first.message.split("\n")[0])
    return f"{first.name} {said} {verdict.sentence.split(':')[0]}"


def _where(exercise_id: str) -> str:
    entry = register.exercise(exercise_id)
    heading = f"the text under “Exercise: `{entry.title}`”" if entry.kind == "code" else "the text"
    if entry.kind == "code" and len(entry.names) > 1:
        heading = "the text of this exercise"
    where = f"{heading[0].upper()}{heading[1:]} above the cell."
    return f"{where} {_texts(exercise_id)['where']}".strip()


def _case(verdict: Verdict) -> str:
    made = set(verdict.misconception.split(TOGETHER))
    for topic in _all_texts().get("mistake", {}).values():
        if made & set(topic["names"]):
            return topic["case"]
    return _texts(verdict.exercise)["case"]


@cache
def _all_texts() -> dict:
    return tomllib.loads(TEXTS.read_text(encoding="utf-8"))


def _texts(exercise_id: str) -> dict:
    return NOTHING | _all_texts()["exercise"].get(exercise_id, {})
