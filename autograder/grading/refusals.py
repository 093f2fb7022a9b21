"""What an answer may not use: set in the register, checked outside the box, told to the student."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from autograder.grading.verdict import Judged
from course_utils.checks import judge, may_use


def with_refusals(judged: Judged, sources: Iterable[str]) -> Judged:
    """The verdict, after reading the text of the answer too."""
    sources = list(sources)
    if judged.box != "ok" and not judged.verdict.points:
        return judged  # how it ended is more informative
    said = may_use.refusal(judged.exercise, sources)
    if said:
        verdict = judge.failed_verdict(judged.exercise, said)
        return Judged(verdict, judged.seeds, "refused use", said)
    hidden = next(filter(None, map(may_use.is_hidden, sources)), "")
    if hidden and judged.verdict.points > 0 and judged.box == "ok":
        said = f"The answer uses `{hidden}`, so its text does not show everything that it uses."
        return replace(judged, box="hidden use", message=said)
    return judged
