"""Grades one submission: a pure function from a rebuilt notebook to a verdict record."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import nbformat
from nbformat import NotebookNode

from autograder import fresh_seeds
from autograder.box import Box, Job, Outcome
from autograder.grading import record
from autograder.grading.answers import Cell, cells_for, cells_to_run, checked_exercises
from course_utils.checks import judge, wire

PRINTED_CHARACTERS = 4000


class BoxFailed(RuntimeError):
    """The box, not the submission, failed: nobody may get a grade from that."""


@dataclass(frozen=True)
class Task:
    """All that grading one submission needs; plain values, so that it can travel."""

    student: str
    assignment: str
    notebook: bytes
    seeds: dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Answered:
    """The verdict on one exercise, and how its run in the box ended."""

    verdict: judge.Verdict
    box: str
    message: str


@dataclass(frozen=True)
class Grades:
    """The verdicts on one submission."""

    answers: tuple[Answered, ...]
    printed: str
    seconds: float

    @property
    def points(self) -> float:
        return sum(answer.verdict.points for answer in self.answers)

    @property
    def max_points(self) -> float:
        return sum(answer.verdict.max_points for answer in self.answers)


def draw_seeds(exercises: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Fresh numbers for a run, so that no answer can be fitted to the questions."""
    return {exercise: fresh_seeds() for exercise in exercises}


@lru_cache(maxsize=256)
def plan_for(exercise: str, seeds: tuple[int, ...], student: str | None) -> judge.Plan:
    return judge.make_plan(exercise, seeds, student=student)


@lru_cache(maxsize=64)
def packed(key: tuple[tuple[str, tuple[int, ...]], ...], student: str | None) -> bytes:
    return wire.pack_request({e: plan_for(e, seeds, student).flat for e, seeds in key})


def prepare_questions(seeds: dict[str, Sequence[int]]) -> None:
    """Draw now what is the same for the whole class, and keep it."""
    if not any(map(is_personal, seeds)):
        packed(tuple((exercise, tuple(drawn)) for exercise, drawn in seeds.items()), None)


def is_personal(exercise: str) -> bool:
    """Whether each student has numbers of their own in this exercise."""
    asks = judge.load(exercise).asks
    code = getattr(asks, "__code__", None)
    return code is not None and "student" in code.co_varnames[: code.co_argcount]


def grade(task: Task, box: Box) -> Grades:
    """Run the answers in the box and judge what came back.

    Raises BoxFailed when the box could not do its work; nothing in a submission makes it raise.
    """
    started = time.monotonic()
    notebook = nbformat.v4.reads(task.notebook.decode())
    cells, exercises = cells_to_run(notebook), checked_exercises(notebook)
    whole = ask(task, exercises, cells, box)
    printed = whole.outcome.printed
    if whole.replies is not None or not exercises:
        answers = tuple(judged(task, exercise, whole) for exercise in exercises)
    else:
        # one endless or fatal answer must not cost the points of the others
        answers = []
        for exercise in exercises:
            own = cells_for(exercise, cells)
            if len(exercises) > 1 or len(own) < len(cells):
                answers.append(judged(task, exercise, ask(task, (exercise,), own, box)))
            else:
                answers.append(judged(task, exercise, whole))
    seconds = round(time.monotonic() - started, 3)
    return Grades(tuple(answers), printed[:PRINTED_CHARACTERS], seconds)


@dataclass(frozen=True)
class Asked:
    """What the box said to some exercises: replies, or why there are none."""

    outcome: Outcome
    replies: dict[str, list[wire.Reply]] | None
    status: str
    message: str


def ask(task: Task, exercises: Sequence[str], cells: Sequence[Cell], box: Box) -> Asked:
    """Put the questions of some exercises to some cells."""
    student = task.student if any(map(is_personal, exercises)) else None
    key = tuple((exercise, tuple(task.seeds[exercise])) for exercise in exercises)
    request = packed(key, student)
    outcome = box.run(Job(tuple(cell.source for cell in cells), request))
    if outcome.status == "refused":
        raise BoxFailed(outcome.message)
    if outcome.status != "ok":
        return Asked(outcome, None, outcome.status, outcome.message)
    try:
        replies = wire.unpack_response(outcome.frame)
    except Exception as problem:  # the bytes are a stranger's: whatever they do, they are no frame
        return Asked(outcome, None, "forged", f"What came back was not an answer: {problem}")
    return Asked(outcome, replies, "ok", "")


def judged(task: Task, exercise: str, asked: Asked) -> Answered:
    """The verdict on one exercise."""
    if asked.replies is None:
        verdict = judge.failed_verdict(exercise, asked.message)
        return Answered(verdict, asked.status, asked.message)
    student = task.student if is_personal(exercise) else None
    plan = plan_for(exercise, tuple(task.seeds[exercise]), student)
    try:
        verdict = judge.verdict(plan, asked.replies.get(exercise))
    except Exception as problem:  # arrays and notes are a stranger's too
        said = f"What came back could not be checked ({type(problem).__name__})."
        return Answered(judge.failed_verdict(exercise, said), "forged", said)
    return Answered(verdict, "ok", "")


def as_records(grades: Grades, seeds: dict[str, Sequence[int]]) -> list[dict]:
    """The `exercises` of a verdict record (see `record`)."""
    return [
        {
            "exercise": answer.verdict.exercise,
            "points": answer.verdict.points,
            "max_points": answer.verdict.max_points,
            "passed": answer.verdict.passed,
            "properties": [
                {
                    "name": finding.name,
                    "passed": finding.passed,
                    "points": finding.points,
                    "max_points": finding.max_points,
                    "message": finding.message,
                    "hint": finding.hint,
                }
                for finding in answer.verdict.findings
            ],
            "misconception": answer.verdict.misconception or None,
            "sentence": answer.verdict.sentence,
            "hint": answer.verdict.hint,
            "box": answer.box,
            "message": answer.message,
            "seeds": list(seeds[answer.verdict.exercise]),
        }
        for answer in grades.answers
    ]


def written_answers(notebook: NotebookNode) -> dict[str, dict]:
    """For each answer that a person reads: whether there is one, and a fingerprint of its text."""
    from nbgrader import utils

    found = {}
    for cell in notebook.cells:
        own = cell.metadata.get("nbgrader", {})
        if own.get("grade") and own.get("solution"):
            answered = own.get("checksum") != utils.compute_checksum(cell)
            found[own["grade_id"]] = {
                "answered": answered,
                "sha256": record.fingerprint(cell.source.encode()),
            }
    return found
