"""The record of a graded submission: what every command and nbgrader's own step write and read.

A record is stored as JSON, field by field, with the number of its format. `submission_record` and
`run_record` also read what older versions stored:

    format 1   flags are sentences, and a finding is called a property
    format 2   flags have a source, so that a regrade replaces only its own
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime

from autograder.intake.submission import NOBODY, Sender

FORMAT = 2
# The answer stopped at a limit, or its cell at an error: nobody has to look at it.
ORDINARY_ENDS = ("ok", "timeout", "memory", "cell")
BY_THE_JUDGE = ("forged", "refused use", "hidden use")


@dataclass(frozen=True)
class Flag:
    """Something that a person must look at.

    source: who noticed it: "intake", "box", "judge" (what came out of the box is not an answer)
    or "grader" (the machine failed, not the student). exercise: empty where it concerns the whole
    submission.
    """

    source: str
    text: str
    exercise: str = ""

    def __str__(self) -> str:
        return f"{self.exercise}: {self.text}" if self.exercise else self.text


@dataclass(frozen=True)
class FindingRecord:
    """The result for one property of an exercise."""

    name: str
    passed: bool
    points: float
    max_points: float
    message: str = ""
    hint: str = ""


@dataclass(frozen=True)
class ExerciseRecord:
    """The verdict on one checked exercise.

    box: "ok", "timeout", "memory", "cell" (the answer's cell raised an error before it defined its
    name), "package" (it imports what the grader does not have), "budget" (it was within its own
    limits, but the answers together used up the submission's time), "crashed", "output" or
    "forged". message: why, if not "ok".
    seeds: with them the same questions, and so the same verdict, can be made again.
    """

    exercise: str
    points: float
    max_points: float
    passed: bool
    findings: tuple[FindingRecord, ...]
    misconception: str | None = None
    sentence: str = ""
    hint: str = ""
    box: str = "ok"
    message: str = ""
    seeds: tuple[int, ...] = ()


@dataclass(frozen=True)
class WrittenRecord:
    """An answer that a person reads: whether there is one, and a fingerprint of its text."""

    answered: bool
    sha256: str


@dataclass(frozen=True)
class SubmissionRecord:
    """Everything that is stored about one student's submission of one assignment.

    sha256: of the file that is graded; handed_in: of all files of the student together.
    status: "graded", or "flagged" when nothing could be graded and a person must look.
    repairs: what intake mended. printed: what the submission printed while it ran, cut short.
    seconds: in the box and at the judge. sender: how the learning system names who handed in.
    earlier: the files that this one replaced, by their sha256.
    """

    run: str
    student: str
    assignment: str
    source_name: str
    timestamp: datetime | None = None
    sha256: str = ""
    handed_in: str = ""
    status: str = "flagged"
    repairs: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    seconds: float = 0.0
    exercises: tuple[ExerciseRecord, ...] = ()
    written: dict[str, WrittenRecord] = field(default_factory=dict)
    printed: str = ""
    sender: Sender = NOBODY
    earlier: tuple[str, ...] = ()

    @property
    def graded(self) -> bool:
        return self.status == "graded"

    @property
    def points(self) -> float:
        """For the checked exercises, without written answers."""
        return sum(exercise.points for exercise in self.exercises)

    @property
    def max_points(self) -> float:
        return sum(exercise.max_points for exercise in self.exercises)

    def exercise(self, name: str) -> ExerciseRecord | None:
        return next((e for e in self.exercises if e.exercise == name), None)


@dataclass(frozen=True)
class Problem:
    """One line of a run's list of things to look at."""

    student: str
    message: str


@dataclass(frozen=True)
class RunRecord:
    """One run over a class, written when it starts and again when it ends.

    finished: None while it runs, and if it was interrupted. isolation: the wall that
    submissions ran behind, as in `autograder.box.choice`: "box", "other user" or "none". where: "local" or the address of a cluster.
    """

    run: str
    assignment: str
    started: str
    seeds: dict[str, tuple[int, ...]]
    isolation: str = "box"
    where: str = "local"
    finished: str | None = None
    submissions: int = 0
    graded: int = 0
    flagged: int = 0
    problems: tuple[Problem, ...] = ()
    seconds: float = 0.0


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def new_run(
    assignment: str, seeds: dict[str, tuple[int, ...]], isolation: str, where: str = "local"
) -> RunRecord:
    """A run that starts now; its name contains microseconds and so is unique in its course."""
    moment = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")
    return RunRecord(f"{moment}-{assignment}", assignment, now(), seeds, isolation, where)


def fingerprint(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def fingerprint_of_files(files: Iterable[tuple[str, bytes]]) -> str:
    """A fingerprint that changes with any of the files or their names."""
    return fingerprint("\n".join(f"{name}\n{fingerprint(data)}" for name, data in files).encode())


# ---- to and from JSON ----


def as_json(record: SubmissionRecord | RunRecord) -> dict:
    """The content of a record's file."""
    content = asdict(record)
    when = content.get("timestamp")
    if when is not None:
        content["timestamp"] = when.isoformat()
    return {"format": FORMAT, **content}


def submission_record(content: dict) -> SubmissionRecord:
    """The record in a file of any format. Raises KeyError, TypeError or ValueError if damaged."""
    when = content.get("timestamp")
    exercises = tuple(_exercise(entry) for entry in content["exercises"])
    if _format(content) == 1:
        flags = tuple(_sourced(sentence, exercises) for sentence in content["flags"])
    else:
        flags = tuple(Flag(**entry) for entry in content["flags"])
    return SubmissionRecord(
        **{
            **_known(SubmissionRecord, content),
            "source_name": content.get("source_name", ""),
            "timestamp": datetime.fromisoformat(when) if when else None,
            "repairs": tuple(content["repairs"]),
            "flags": flags,
            "exercises": exercises,
            "written": {name: WrittenRecord(**entry) for name, entry in content["written"].items()},
            "sender": Sender(**content.get("sender", {})),
            "earlier": tuple(content.get("earlier", ())),
        }
    )


def run_record(content: dict) -> RunRecord:
    """Like `submission_record`, for a run."""
    _format(content)
    return RunRecord(
        **{
            **_known(RunRecord, content),
            "seeds": {exercise: tuple(drawn) for exercise, drawn in content["seeds"].items()},
            "problems": tuple(Problem(**entry) for entry in content["problems"]),
        }
    )


def _format(content: dict) -> int:
    if content["format"] not in (1, FORMAT):
        raise ValueError(f"a record of format {content['format']}")
    return content["format"]


def _known(kind: type, content: dict) -> dict:
    """What this version has a field for; format 1 also stored sums."""
    names = {entry.name for entry in fields(kind)}
    return {name: value for name, value in content.items() if name in names}


def _exercise(content: dict) -> ExerciseRecord:
    found = content["findings"] if "findings" in content else content["properties"]
    return ExerciseRecord(
        **{
            **_known(ExerciseRecord, content),
            "findings": tuple(FindingRecord(**entry) for entry in found),
            "seeds": tuple(content["seeds"]),
        }
    )


def _sourced(sentence: str, exercises: tuple[ExerciseRecord, ...]) -> Flag:
    """A flag in format 1; the box's and the judge's repeat the message of their exercise."""
    for entry in exercises:
        flag = flag_of(entry)
        if flag is not None and str(flag) == sentence:
            return flag
    if sentence.startswith("It could not be graded: "):
        return Flag("grader", sentence)
    return Flag("intake", sentence)


def flag_of(entry: ExerciseRecord) -> Flag | None:
    """What a person must know about how an answer ended in the box."""
    if entry.box in ORDINARY_ENDS:
        return None
    source = "judge" if entry.box in BY_THE_JUDGE else "box"
    return Flag(source, " ".join(entry.message.split()), entry.exercise)
