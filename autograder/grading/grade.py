"""Grades one rebuilt notebook: its answers run in the box, and the judge decides outside."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from nbformat import NotebookNode

from autograder.box import Job, Limits, Outcome
from autograder.cell_names import exercise_of
from autograder.grading.record import WrittenRecord, fingerprint
from autograder.grading.refusals import with_refusals
from autograder.grading.verdict import Grades, Judged, Replies, judge_replies, read_outcome
from autograder.grading.what_to_run import (
    RunnableCell,
    cells_for,
    cells_to_run,
    checked_exercises,
    job_of,
)
from autograder.seeds import fresh_seeds
from course_utils.checks import judge, wire

PRINTED_CHARACTERS = 4000

Seeds = Mapping[str, tuple[int, ...]]


class RunsJobs(Protocol):
    """The box, in this process or at the other end of a connection."""

    @property
    def limits(self) -> Limits: ...

    def run(self, job: Job, wall_seconds: float | None = None) -> Outcome: ...


@dataclass(frozen=True)
class Task:
    """Everything that grading one submission needs."""

    student: str
    notebook: NotebookNode
    seeds: Seeds


def draw_seeds(exercises: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Fresh numbers for a run, so that no answer can be fitted to the questions."""
    return {exercise: fresh_seeds() for exercise in exercises}


@lru_cache(maxsize=256)
def plan_for(exercise: str, seeds: tuple[int, ...], student: str | None) -> judge.Plan:
    return judge.make_plan(exercise, seeds, student=student)


@lru_cache(maxsize=64)
def packed(key: tuple[tuple[str, tuple[int, ...]], ...], student: str | None) -> bytes:
    return wire.pack_request({e: plan_for(e, seeds, student).flat for e, seeds in key})


def prepare_questions(seeds: Seeds) -> None:
    """Draw and keep what is the same for the whole class."""
    if not any(map(judge.is_personal, seeds)):
        packed(tuple(seeds.items()), None)


def grade(task: Task, box: RunsJobs) -> Grades:
    """Run the answers in the box and judge what came back.

    Raises BoxFailed when the box could not do its work; nothing in a submission makes it raise.
    """
    started = time.monotonic()
    cells, exercises = cells_to_run(task.notebook), checked_exercises(task.notebook)
    outcome, whole = ask(task, exercises, cells, box, box.limits.wall_seconds)
    replies = {exercise: whole for exercise in exercises}
    if whole.by_exercise is None:
        replies |= one_by_one(task, exercises, cells, box, started + box.limits.together_seconds)
    worth = points_of(task.notebook)
    answers = tuple(
        read_too(judge_replies(plan(task, exercise), replies[exercise]), cells).worth(
            worth[exercise]
        )
        for exercise in exercises
    )
    seconds = round(time.monotonic() - started, 3)
    return Grades(answers, outcome.printed[:PRINTED_CHARACTERS], seconds)


def one_by_one(
    task: Task,
    exercises: Sequence[str],
    cells: tuple[RunnableCell, ...],
    box: RunsJobs,
    until: float,
) -> dict[str, Replies]:
    """Run each answer on its own: an endless or fatal one must not cost the others their points.

    Each has a few seconds at first. Those that need more share what is left of the submission's
    time; if that is too little for an answer, a person is told.
    """
    first = min(box.limits.alone_seconds, box.limits.wall_seconds)
    replies: dict[str, Replies] = {}
    slow: list[tuple[str, tuple[RunnableCell, ...]]] = []
    for number, exercise in enumerate(exercises):
        own = cells_for(exercise, cells)
        if len(exercises) > 1 or len(own) < len(cells):
            seconds = min(first, share_of(until, len(exercises) - number))
            replies[exercise], at_its_end = ask_alone(task, exercise, own, box, seconds)
            if at_its_end:
                slow.append((exercise, own))
    for number, (exercise, own) in enumerate(slow):
        seconds = min(box.limits.wall_seconds, share_of(until, len(slow) - number))
        at_its_end = seconds <= first  # it had as much before
        if not at_its_end:
            replies[exercise], at_its_end = ask_alone(task, exercise, own, box, seconds)
        if at_its_end and seconds < box.limits.wall_seconds:
            replies[exercise] = Replies(None, "budget", no_time_left(box.limits))
    return replies


def share_of(until: float, answers: int) -> float:
    """The seconds that each of so many answers has until then."""
    return max(0.1, (until - time.monotonic()) / answers)


def no_time_left(limits: Limits) -> str:
    return (
        f"It was stopped: the answers of one submission together may take "
        f"{limits.together_seconds:g} s, and these take longer."
    )


def ask_alone(
    task: Task, exercise: str, cells: Sequence[RunnableCell], box: RunsJobs, seconds: float
) -> tuple[Replies, bool]:
    """The replies of one answer, and whether it was stopped when these seconds were over."""
    started = time.monotonic()
    _, replies = ask(task, (exercise,), cells, box, seconds)
    return replies, replies.box == "timeout" and time.monotonic() - started >= seconds


def read_too(judged: Judged, cells: tuple[RunnableCell, ...]) -> Judged:
    """The verdict, after reading the text of the answer and of the cells that it builds on."""
    own = [cell.source for cell in cells_for(judged.exercise, cells) if cell.own]
    return with_refusals(judged, own)


def points_of(notebook: NotebookNode) -> dict[str, float]:
    """What each exercise is worth in these students' release: the register may have changed."""
    marked = (cell.metadata.get("nbgrader", {}) for cell in notebook.cells)
    return {exercise_of(own["grade_id"]): own["points"] for own in marked if own.get("grade")}


def plan(task: Task, exercise: str) -> judge.Plan:
    student = task.student if judge.is_personal(exercise) else None
    return plan_for(exercise, task.seeds[exercise], student)


def ask(
    task: Task,
    exercises: Sequence[str],
    cells: Sequence[RunnableCell],
    box: RunsJobs,
    seconds: float,
) -> tuple[Outcome, Replies]:
    """Put the questions of some exercises to some cells."""
    student = task.student if any(map(judge.is_personal, exercises)) else None
    request = packed(tuple((name, task.seeds[name]) for name in exercises), student)
    outcome = box.run(job_of(cells, request), seconds)
    return outcome, read_outcome(outcome)


def written_answers(notebook: NotebookNode) -> dict[str, WrittenRecord]:
    """The answers that a person reads, by the name of their cell."""
    from nbgrader import utils

    found = {}
    for cell in notebook.cells:
        own = cell.metadata.get("nbgrader", {})
        if own.get("grade") and own.get("solution"):
            answered = own.get("checksum") != utils.compute_checksum(cell)
            found[own["grade_id"]] = WrittenRecord(answered, fingerprint(cell.source.encode()))
    return found
