"""Grades the submissions in the course directory again, and reports which points changed.

The notebooks in `submitted/` are the ones that intake rebuilt, so only the judge runs again: for
everyone or for some students, for all exercises or for some. Marks given by hand are not touched.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook

from autograder.box import Box, choose_wall
from autograder.cell_names import check_cell
from autograder.course_files import CourseError, write_atomically
from autograder.grading import archive, record
from autograder.grading.grade import draw_seeds
from autograder.grading.reading import Readers
from autograder.grading.record import Problem, RunRecord, SubmissionRecord
from autograder.grading.releases import release_of
from autograder.grading.student import Finished, Setting, Stored
from autograder.grading.what_to_run import checked_exercises
from autograder.instructor.course import Course, records_of
from autograder.nbgrader_parts.configuration import own_settings
from autograder.nbgrader_parts.gradebook import Entry, GradebookWriter
from autograder.whole_class import workers
from autograder.whole_class.course_directory import only_writer
from autograder.whole_class.following import Agree, always, bring_along
from course_utils import register


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
    """The result of a regrade."""

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
    wanted = _exercises(course, [records[name] for name in chosen], exercises, assignment)
    seeds = draw_seeds(wanted)
    if same_seeds:
        seeds |= _last_seeds(records, wanted)
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
            with Box(jobs, unsafe=unsafe) as box, Readers(unsafe) as readers:
                setting = Setting(run.run, assignment, seeds, {}, register=register.used())
                readers.prepare(setting)
                work = partial(_judge_again, course, tuple(wanted), readers, setting, box)
                judged = workers.side_by_side(work, [records[name] for name in chosen], jobs)
                for done, (index, item) in enumerate(judged, 1):
                    old = records[chosen[index]]
                    if isinstance(item, BaseException):
                        said = f"It could not be graded again: {item}"
                        problems.append(Problem(old.student, said))
                    else:
                        changes += _changes(old, item, by_hand)
                        if not dry_run:
                            _store(course, old, item, writer)
                    tell(done, len(chosen))
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
            f"Grade it with `autograder grade {assignment}` first."
        )
    chosen = [name for name in stored if not students or name in students]
    if not chosen:
        raise CourseError(f"No {assignment} has been graded yet in {course.root}.")
    return chosen


def _exercises(
    course: Course, chosen: Iterable[SubmissionRecord], wanted: Sequence[str], assignment: str
) -> list[str]:
    """The exercises that the students were given or have been judged on before."""
    given = checked_exercises(nbformat.reads(release_of(course.root, assignment), as_version=4))
    before = (entry.exercise for record in chosen for entry in record.exercises)
    known = {exercise.id for exercise in register.ever()}
    there = [name for name in dict.fromkeys((*given, *before)) if name in known]
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


def _judge_again(
    course: Course,
    exercises: tuple[str, ...],
    readers: Readers,
    setting: Setting,
    box: Box,
    old: SubmissionRecord,
) -> Finished:
    submitted = _path(course, "submitted", old.student, setting.assignment)
    autograded = _path(course, "autograded", old.student, setting.assignment)
    shown = autograded.read_bytes() if autograded.is_file() else None
    stored = Stored(old, submitted.read_bytes(), shown, exercises)
    return readers.judge_again(stored, setting, box)


def _changes(
    old: SubmissionRecord, item: Finished, by_hand: Mapping[tuple[str, str], float]
) -> list[PointsChange]:
    before = {entry.exercise: entry.points for entry in old.exercises}
    return [
        PointsChange(
            old.student,
            entry.exercise,
            before.get(entry.exercise, 0.0),
            entry.points,
            by_hand.get((old.student, check_cell(entry.exercise))),
        )
        for entry in item.record.exercises
        if entry.exercise in item.comments  # the others were not judged again
    ]


def _store(course: Course, old: SubmissionRecord, item: Finished, writer: GradebookWriter) -> None:
    """Write notebook, gradebook and record, in this order: a record means that all is done."""
    if item.autograded is not None:
        path = _path(course, "autograded", old.student, old.assignment)
        write_atomically(path, item.autograded)
    writer.write([Entry(item.record, item.scores, item.comments, old)])
    archive.write_record(course.root, item.record)


def _path(course: Course, step: str, student: str, assignment: str) -> Path:
    return course.folder(step, archive.folder_name(student), assignment) / f"{assignment}.ipynb"
