"""What an answer may not use: decided by the register, read outside the box, said in the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from autograder.grading.releases import release_names, release_notebook
from autograder.grading.verdict import Judged
from course_utils import register
from course_utils.checks import judge, may_use

MOST_NAMED = 3


@lru_cache(maxsize=32)
def given_by(notebook: str) -> frozenset[str] | None:
    """The names that a notebook gives; None if there is no such notebook any more."""
    if notebook not in release_names():
        return None
    cells = [c for c in release_notebook(notebook).cells if c.cell_type == "code"]
    given = [c for c in cells if not c.metadata.get("nbgrader", {}).get("solution")]
    return frozenset(name for cell in given for name in may_use.names_given(cell.source))


def refusal(exercise_id: str, sources: Iterable[str]) -> str:
    """Why an answer counts for nothing, as a sentence; empty if it uses nothing refused."""
    entry = register.exercise(exercise_id)
    given = None if entry.retired else given_by(entry.notebook)
    uses = [use for source in sources for use in may_use.refused_uses(source, entry.refused, given)]
    if not uses:
        return ""
    named = ", ".join(f"`{use}`" for use in dict.fromkeys(uses[:MOST_NAMED]))
    return (
        f"The answer uses {named}, which this exercise does not allow: write it yourself, with what "
        "the notebook gives."
    )


def with_refusals(judged: Judged, sources: Iterable[str]) -> Judged:
    """The verdict once the text of the answer was read too."""
    sources = list(sources)
    if judged.box != "ok" and not judged.verdict.points:
        return judged  # how it ended says more
    said = refusal(judged.exercise, sources)
    if said:
        verdict = judge.failed_verdict(judged.exercise, said)
        return Judged(verdict, judged.seeds, "refused use", said)
    hidden = next(filter(None, map(may_use.is_hidden, sources)), "")
    if hidden and judged.verdict.points > 0 and judged.box == "ok":
        said = f"The answer uses `{hidden}`, so its text does not show all that it uses."
        return replace(judged, box="hidden use", message=said)
    return judged
