"""From the output of the box to verdicts, and from verdicts to the record of a submission.

`autograder grade`, `regrade`, `check` and nbgrader's own step all come through here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from autograder import oracles  # noqa: F401 - gives the judge its oracles
from autograder.box import Outcome
from autograder.grading.record import (
    ExerciseRecord,
    FindingRecord,
    SubmissionRecord,
    WrittenRecord,
    flag_of,
)
from autograder.intake.text import clean_name, clean_text
from course_utils.checks import judge, wire

LONGEST_TEXT = 4000  # characters of an error or a note that comes out of the box
LONGEST_PACKAGE = 60


class BoxFailed(RuntimeError):
    """The box failed, not the submission, so nobody may get a grade from it."""


@dataclass(frozen=True)
class Replies:
    """The box's replies by exercise, or the reason why there are none."""

    by_exercise: dict[str, list[wire.Reply]] | None
    box: str = "ok"
    message: str = ""


@dataclass(frozen=True)
class Judged:
    """The verdict on one exercise, with its pictures, and how its run in the box ended."""

    verdict: judge.Verdict
    seeds: tuple[int, ...]
    box: str = "ok"
    message: str = ""

    @property
    def exercise(self) -> str:
        return self.verdict.exercise

    def worth(self, points: float) -> Judged:
        return replace(self, verdict=self.verdict.worth(points))


@dataclass(frozen=True)
class Grades:
    """The verdicts on one submission."""

    answers: tuple[Judged, ...]
    printed: str
    seconds: float

    @property
    def points(self) -> float:
        return sum(answer.verdict.points for answer in self.answers)

    @property
    def max_points(self) -> float:
        return sum(answer.verdict.max_points for answer in self.answers)


def read_outcome(outcome: Outcome) -> Replies:
    """The replies in the output of the box. Raises BoxFailed if the box itself failed."""
    if outcome.status == "refused":
        raise BoxFailed(outcome.message)
    if outcome.status != "ok" or outcome.frame is None:
        return Replies(None, outcome.status, outcome.message)
    try:
        found = wire.unpack_response(outcome.frame)
        return Replies({exercise: list(map(_clean, own)) for exercise, own in found.items()})
    except Exception as problem:  # untrusted bytes: whatever they raise, they are not a frame
        return Replies(None, "forged", f"What came back was not an answer: {problem}")


def _clean(reply: wire.Reply) -> wire.Reply:
    """A reply with texts that can be stored and shown; they come from untrusted code."""
    notes = {key: clean_text(note[:LONGEST_TEXT]) for key, note in reply.notes.items()}
    return replace(reply, notes=notes, error=clean_text(reply.error[:LONGEST_TEXT]))


def _how_it_ended(verdict: judge.Verdict, replies: list[wire.Reply]) -> tuple[str, str]:
    """How an answer that replied ended in the box, and why: a failed cell or a missing package."""
    for reply in replies if not verdict.passed else ():
        package = clean_name(reply.notes.get("package"), LONGEST_PACKAGE)
        if package:
            said = f"The answer imports the package `{package}`, which the grader does not have."
            return "package", f"{said}\n{reply.notes.get('cell', reply.error)}"
        if "cell" in reply.notes:
            return "cell", f"The cell of the answer raised an error.\n{reply.notes['cell']}"
    return "ok", ""


def judge_replies(plan: judge.Plan, replies: Replies) -> Judged:
    """The verdict on one exercise."""
    if replies.by_exercise is None:
        verdict = judge.failed_verdict(plan.exercise, replies.message)
        return Judged(verdict, plan.seeds, replies.box, replies.message)
    try:
        own = replies.by_exercise.get(plan.exercise)
        verdict = judge.verdict(plan, own)
    except Exception as problem:  # arrays and notes are untrusted too
        said = f"What came back could not be checked ({type(problem).__name__})."
        return Judged(judge.failed_verdict(plan.exercise, said), plan.seeds, "forged", said)
    return Judged(verdict, plan.seeds, *_how_it_ended(verdict, own or []))


def judge_outcome(plan: judge.Plan, outcome: Outcome) -> Judged:
    """The verdict on one exercise that was alone in the box."""
    return judge_replies(plan, read_outcome(outcome))


def exercise_record(judged: Judged) -> ExerciseRecord:
    """What is kept of a verdict: everything but the pictures."""
    verdict = judged.verdict
    return ExerciseRecord(
        verdict.exercise,
        verdict.points,
        verdict.max_points,
        verdict.passed,
        tuple(
            FindingRecord(f.name, f.passed, f.points, f.max_points, f.message, f.hint)
            for f in verdict.findings
        ),
        verdict.misconception or None,
        verdict.sentence,
        verdict.hint,
        judged.box,
        judged.message,
        judged.seeds,
    )


def with_verdicts(
    record: SubmissionRecord,
    grades: Grades,
    run: str,
    written: Mapping[str, WrittenRecord],
) -> SubmissionRecord:
    """The record after these exercises were judged; everything else in it stays.

    Of its flags only those go that the box or the judge raised for the same exercises.
    """
    judged = tuple(map(exercise_record, grades.answers))
    return with_exercises(record, judged, run, written, grades.printed, grades.seconds)


def with_exercises(
    record: SubmissionRecord,
    judged: Sequence[ExerciseRecord],
    run: str,
    written: Mapping[str, WrittenRecord],
    printed: str,
    seconds: float,
) -> SubmissionRecord:
    """The same from what is kept of the verdicts."""
    fresh = {entry.exercise: entry for entry in judged}
    known = [entry.exercise for entry in record.exercises]
    exercises = [fresh.get(entry.exercise, entry) for entry in record.exercises]
    exercises += [entry for name, entry in fresh.items() if name not in known]
    kept = [
        flag
        for flag in record.flags
        if flag.source not in ("box", "judge") or flag.exercise not in fresh
    ]
    raised = [flag for entry in fresh.values() if (flag := flag_of(entry)) is not None]
    return replace(
        record,
        run=run,
        status="graded",
        exercises=tuple(exercises),
        flags=(*kept, *raised),
        written=dict(written),
        printed=printed,
        seconds=seconds,
    )
