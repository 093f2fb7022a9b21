"""All marks of an assignment as plain values, read from the gradebook in one query."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo

from nbgrader.api import (
    Assignment,
    BaseCell,
    Grade,
    Gradebook,
    GradeCell,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)

from autograder.cell_names import exercise_of
from autograder.intake import roster
from course_utils import register


@dataclass(frozen=True)
class Mark:
    """The mark for one cell, given by a check or by a person."""

    cell: str
    written: bool
    score: float
    max_score: float
    manual: float | None
    waiting: bool

    @property
    def exercise(self) -> str:
        return exercise_of(self.cell)


@dataclass(frozen=True)
class Sheet:
    """One student's marks for one assignment."""

    student: str
    first_name: str
    last_name: str
    email: str
    lms_id: str
    submitted: bool = False
    timestamp: datetime | None = None
    penalty: float = 0.0
    seconds_late: float = 0.0
    marks: tuple[Mark, ...] = field(default=())

    @property
    def raw(self) -> float:
        return sum(mark.score for mark in self.marks)

    @property
    def score(self) -> float:
        return max(0.0, self.raw - self.penalty)

    @property
    def waiting(self) -> int:
        return sum(mark.waiting for mark in self.marks)

    @property
    def name(self) -> str:
        return f"{self.first_name or ''} {self.last_name or ''}".strip() or self.student


def seconds_late(submission: SubmittedAssignment, zone: tzinfo | None) -> float:
    """How late work is by the clock in the class's time zone; 0 if it was on time.

    The same time on the next day is one day later, even on the days when the clocks change.
    """
    late = submission.total_seconds_late
    if late <= 0 or zone is None or submission.timestamp is None:
        return max(0.0, late)
    due, came = (
        moment.replace(tzinfo=UTC).astimezone(zone)
        for moment in (submission.duedate, submission.timestamp)
    )
    on_the_wall = (came.replace(tzinfo=None) - due.replace(tzinfo=None)).total_seconds()
    return on_the_wall if on_the_wall > 0 else late


def read_sheets(gradebook: Gradebook, assignment: str, zone: tzinfo | None = None) -> list[Sheet]:
    """One sheet per student in the gradebook, whether they handed in or not, sorted by id.

    zone: the time zone in which late days are counted.
    """
    marks: dict[str, list[Mark]] = {}
    rows = (
        gradebook.db.query(
            SubmittedAssignment.student_id,
            BaseCell.name,
            GradeCell.cell_type,
            Grade.auto_score,
            Grade.manual_score,
            Grade.extra_credit,
            Grade.needs_manual_grade,
            GradeCell.max_score,
        )
        .select_from(Grade)
        .join(SubmittedNotebook, Grade.notebook_id == SubmittedNotebook.id)
        .join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
        .join(GradeCell, Grade.cell_id == GradeCell.id)
        .filter(Assignment.name == assignment)
    )
    for student, cell, kind, auto, manual, extra, waiting, most in rows:
        score = (manual if manual is not None else auto or 0.0) + (extra or 0.0)
        mark = Mark(cell, kind == "markdown", score, most, manual, bool(waiting))
        marks.setdefault(student, []).append(mark)
    order = {cell.name: n for n, cell in enumerate(_cells(gradebook, assignment))}
    submissions = {s.student_id: s for s in gradebook.assignment_submissions(assignment)}
    sheets = []
    for student in gradebook.db.query(Student).order_by(Student.id):
        submission = submissions.get(student.id)
        own = sorted(marks.get(student.id, ()), key=lambda mark: order.get(mark.cell, 0))
        sheets.append(
            Sheet(
                student.id,
                student.first_name or "",
                student.last_name or "",
                student.email or "",
                student.lms_user_id or "",
                submission is not None,
                submission.timestamp if submission else None,
                submission.late_submission_penalty or 0.0 if submission else 0.0,
                seconds_late(submission, zone) if submission else 0.0,
                tuple(own),
            )
        )
    return sheets


def names_of(sheets: Iterable[Sheet]) -> dict[str, str]:
    """What to call each student: by name, and also by id if two have the same name."""
    names = {sheet.student: sheet.name for sheet in sheets}
    count = Counter(names.values())
    return {who: f"{name} ({who})" if count[name] > 1 else name for who, name in names.items()}


def with_roster(sheets: list[Sheet], people: Mapping[str, roster.Student]) -> list[Sheet]:
    """The sheets with the roster's names where the gradebook has none, and with who is missing."""
    found = []
    for sheet in sheets:
        person = people.get(sheet.student)
        if person is not None and not (sheet.first_name or sheet.last_name):
            sheet = replace(sheet, first_name=person.first_name, last_name=person.last_name)
        found.append(sheet)
    there = {sheet.student for sheet in sheets}
    for name, p in people.items():
        if name not in there:
            found.append(Sheet(name, p.first_name, p.last_name, p.email, p.lms_id))
    return sorted(found, key=lambda sheet: sheet.student)


def max_score(gradebook: Gradebook, assignment: str) -> float:
    """The full points of an assignment; extra credit comes on top."""
    return sum(c.max_score for c in _cells(gradebook, assignment) if not is_extra(c.name))


def is_extra(cell: str) -> bool:
    """Whether a graded cell belongs to an exercise for extra credit."""
    exercise = exercise_of(cell)
    return any(entry.id == exercise and entry.extra for entry in register.ever())


def mean_score(sheets: Sequence[Sheet]) -> float:
    """The average of a class over everything that was graded, with the marks given so far.

    Students who submitted nothing, or a file that nobody could read, are not part of it.
    """
    return statistics.mean(sheet.score for sheet in sheets if sheet.submitted)


def so_far(sheets: Sequence[Sheet]) -> str:
    """The words after points that may still grow because written answers are unmarked."""
    return " so far" if any(sheet.waiting for sheet in sheets) else ""


def number(value: float) -> str:
    """Points without noise: 2, 2.5, 2.333."""
    return f"{round(value, 3):g}"


def shown(value: float) -> str:
    """Points on a page for people: 2, 2.5, 2.33."""
    return f"{round(value, 2):g}"


def _cells(gradebook: Gradebook, assignment: str) -> list[GradeCell]:
    notebooks = gradebook.find_assignment(assignment).notebooks
    return [cell for notebook in notebooks for cell in notebook.grade_cells]
