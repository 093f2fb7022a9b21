"""Grades again what is in the course directory already, and reports which points changed.

The notebooks in `submitted/` are the ones that intake rebuilt, so only the judge runs again: for
everyone or for some students, for all exercises or for some. Marks given by hand are not touched.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook

from autograder.box import Box, choose_wall
from autograder.cell_names import check_cell
from autograder.course_files import CourseError, write_atomically
from autograder.grading import archive, outputs, record
from autograder.grading.grade import Task, draw_seeds, grade
from autograder.grading.record import Problem, RunRecord, SubmissionRecord
from autograder.grading.verdict import Grades, with_verdicts
from autograder.grading.what_to_run import checked_exercises
from autograder.instructor.course import Course, records_of
from autograder.nbgrader_parts.configuration import own_settings
from autograder.nbgrader_parts.gradebook import Entry, GradebookWriter
from autograder.whole_class import workers
from autograder.whole_class.course_directory import only_writer
from autograder.whole_class.following import Agree, always, bring_along


@dataclass(frozen=True)
class PointsChange:
    """One exercise of one student: the points before and now, and any mark by hand."""

    student: str
    exercise: str
    before: float
    after: float
    by_hand: float | None = None

    @property
    def changed(self) -> bool:
        return abs(self.before - self.after) > 1e-9


@dataclass(frozen=True)
class Regraded:
    """What a regrading did."""

    run: RunRecord
    changes: tuple[PointsChange, ...]


def regrade(
    course: Course,
    assignment: str,
    students: Sequence[str] = (),
    exercises: Sequence[str] = (),
    *,
    jobs: int = 2,
    unsafe: bool = False,
    same_seeds: bool = False,
    agree: Agree = always,
    dry_run: bool = False,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Regraded:
    """Judge the stored submissions of an assignment again.

    First gradebook, records and notebooks follow what changed in the course; `agree` is shown what
    that changes for whom. With `dry_run` nothing that is judged again is written.
    """
    started = time.monotonic()
    with only_writer(course.root):
        bring_along(course.root, assignment, course.db_url, agree)
    records = records_of(course, assignment)
    chosen = _chosen(course, assignment, students, records)
    notebooks = {name: _read(course, "submitted", name, assignment) for name in chosen}
    wanted = _exercises(notebooks.values(), exercises, assignment)
    seeds = draw_seeds(wanted)
    if same_seeds:
        seeds |= _last_seeds(records, wanted)
    tasks = [Task(name, _only(notebooks[name], wanted), seeds) for name in chosen]
    with only_writer(course.root):
        run = replace(
            record.new_run(assignment, seeds, choose_wall(unsafe)), submissions=len(chosen)
        )
        by_hand = _marks_by_hand(course, assignment)
        config = own_settings(course.root)
        writer = GradebookWriter(course.db_url, assignment, config, course=course.root)
        changes: list[PointsChange] = []
        problems: list[Problem] = []
        try:
            with Box(jobs, unsafe=unsafe) as box:
                judged = workers.side_by_side(partial(grade, box=box), tasks, jobs)
                for done, (index, grades) in enumerate(judged, 1):
                    name = chosen[index]
                    if isinstance(grades, BaseException):
                        problems.append(Problem(name, f"It could not be graded again ({grades})."))
                    else:
                        changes += _changes(records[name], grades, by_hand)
                        if not dry_run:
                            _store(course, run, records[name], grades, writer)
                    tell(done, len(tasks))
        finally:
            writer.close()
        run = replace(
            run,
            graded=len(chosen) - len(problems),
            flagged=len(problems),
            problems=tuple(problems),
            seconds=round(time.monotonic() - started, 2),
            finished=record.now(),
        )
        if not dry_run:
            archive.write_run(course.root, run)
    changes.sort(key=lambda change: (change.student, change.exercise))
    return Regraded(run, tuple(changes))


def _chosen(
    course: Course,
    assignment: str,
    students: Sequence[str],
    records: Mapping[str, SubmissionRecord],
) -> list[str]:
    stored = [
        name
        for name, entry in records.items()
        if entry.graded
        and course.folder("submitted", archive.folder_name(name), assignment).is_dir()
    ]
    missing = [name for name in students if name not in stored]
    if missing:
        raise CourseError(
            f"{', '.join(missing)} has no graded submission of {assignment} in {course.root}. "
            f"Hand it to `autograder grade {assignment}` first."
        )
    chosen = [name for name in stored if not students or name in students]
    if not chosen:
        raise CourseError(f"Nothing of {assignment} has been graded yet in {course.root}.")
    return chosen


def _exercises(
    notebooks: Iterable[NotebookNode], wanted: Sequence[str], assignment: str
) -> list[str]:
    there = list(dict.fromkeys(e for nb in notebooks for e in checked_exercises(nb)))
    unknown = [name for name in wanted if name not in there]
    if unknown:
        raise CourseError(
            f"{assignment} has no checked exercise {', '.join(unknown)}. It has: "
            f"{', '.join(there)}."
        )
    return list(wanted) or there


def _last_seeds(
    records: Mapping[str, SubmissionRecord], wanted: Sequence[str]
) -> dict[str, tuple[int, ...]]:
    ordered = sorted(records.values(), key=lambda entry: entry.run)
    return {e.exercise: e.seeds for r in ordered for e in r.exercises if e.exercise in wanted}


def _marks_by_hand(course: Course, assignment: str) -> dict[tuple[str, str], float]:
    with Gradebook(course.db_url) as gradebook:
        return {
            (submission.student_id, grade.cell.name): grade.manual_score
            for submission in gradebook.assignment_submissions(assignment)
            for notebook in submission.notebooks
            for grade in notebook.grades
            if grade.manual_score is not None
        }


def _only(notebook: NotebookNode, wanted: Sequence[str]) -> NotebookNode:
    """The notebook with the check cells of the wanted exercises alone."""
    kept = copy.copy(notebook)
    kept["cells"] = [
        cell for cell in notebook.cells if outputs.checked_exercise(cell) in (None, *wanted)
    ]
    return kept


def _changes(
    old: SubmissionRecord, grades: Grades, by_hand: Mapping[tuple[str, str], float]
) -> list[PointsChange]:
    before = {entry.exercise: entry.points for entry in old.exercises}
    return [
        PointsChange(
            old.student,
            answer.exercise,
            before.get(answer.exercise, 0.0),
            answer.verdict.points,
            by_hand.get((old.student, check_cell(answer.exercise))),
        )
        for answer in grades.answers
    ]


def _store(
    course: Course, run: RunRecord, old: SubmissionRecord, grades: Grades, writer: GradebookWriter
) -> None:
    """Notebook, gradebook, record: in this order, as a record means that all is done."""
    path = _path(course, "autograded", old.student, run.assignment)
    scores: dict[str, float | None] = {}
    if path.is_file():
        notebook = nbformat.read(path, as_version=4)
        outputs.write_verdicts(notebook, grades, all_exercises=False)
        judged = [check_cell(answer.exercise) for answer in grades.answers]
        scores = {n: score for n, score in outputs.scores(notebook).items() if n in judged}
        write_atomically(path, nbformat.v4.writes(notebook).encode())
    new = with_verdicts(old, grades, run.run, old.written)
    comments = {answer.exercise: outputs.comment_on(answer) for answer in grades.answers}
    writer.write([Entry(new, scores, comments, old)])
    archive.write_record(course.root, new)


def _path(course: Course, step: str, student: str, assignment: str) -> Path:
    return course.folder(step, archive.folder_name(student), assignment) / f"{assignment}.ipynb"


def _read(course: Course, step: str, student: str, assignment: str) -> NotebookNode:
    path = _path(course, step, student, assignment)
    try:
        return nbformat.read(path, as_version=4)
    except Exception as problem:  # nbformat raises many kinds for a damaged file
        raise CourseError(f"{path} can't be read: {problem}.") from None
