"""What was handed in before: older files don't replace newer ones, and lost times are noticed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from autograder.grading.record import Flag, SubmissionRecord


def why_older(new: SubmissionRecord, before: SubmissionRecord | None) -> str:
    """Why a file is older than the graded one, in a sentence; empty if it is not."""
    if before is None or new.sha256 == before.sha256:
        return ""
    ours, theirs = _utc(new.timestamp), _utc(before.timestamp)
    if ours and theirs:
        if ours >= theirs:
            return ""
        return (
            f"{new.source_name} was handed in {_shown(ours)}, and {before.source_name}, which is "
            f"graded, {_shown(theirs)}."
        )
    if _canvas_number(new) and _canvas_number(before):
        if _canvas_number(new) >= _canvas_number(before):
            return ""
        return (
            f"{new.source_name} has a lower Canvas number than {before.source_name}, which is "
            "graded, so it is older."
        )
    # a student may go back to an earlier file, which only a time or a number can show
    if new.sha256 in before.earlier:
        return f"{new.source_name} was graded before, and a newer file has replaced it."
    return ""


def _canvas_number(record: SubmissionRecord) -> int:
    """Canvas numbers the files in the order in which they arrive."""
    number = record.sender.attachment
    return int(number) if record.sender.system == "canvas" and number.isdigit() else 0


def with_history(
    new: SubmissionRecord, before: SubmissionRecord | None, told_older: bool = False
) -> SubmissionRecord:
    """The record with the files that it replaces, and a flag if the time got lost.

    told_older: an older file counts because the instructor decided so; its history starts again.
    """
    if before is None:
        return new
    if new.sha256 == before.sha256 or told_older:
        earlier = () if told_older else before.earlier
    else:
        earlier = tuple(dict.fromkeys((*before.earlier, before.sha256)))
    new = replace(new, earlier=tuple(known for known in earlier if known != new.sha256))
    if is_resubmitted(new, before) and new.timestamp is None and before.timestamp is not None:
        new = replace(
            new,
            flags=(
                *new.flags,
                Flag(
                    "intake",
                    "It was handed in again at an unknown time; the previous file was handed in "
                    f"{_shown(before.timestamp)}. No late days are counted until times.csv has the "
                    "time.",
                ),
            ),
        )
    return new


def is_resubmitted(new: SubmissionRecord, before: SubmissionRecord | None) -> bool:
    """Whether a different file is graded than before."""
    return before is not None and bool(before.sha256) and new.sha256 != before.sha256


def _utc(moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def _shown(moment: datetime) -> str:
    known = _utc(moment)
    assert known is not None
    return f"on {known:%-d %B %Y at %H:%M} UTC"
