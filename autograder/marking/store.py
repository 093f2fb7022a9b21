"""The marks of one written question: read from nbgrader's gradebook, and written there.

nbgrader has no place for the lines of the mark scheme that were chosen, nor for who chose them.
They are kept in `.autograder/marking/`, and count only while the points in the gradebook match.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock
from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    GradeCell,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy.orm import Query

from autograder.course_files import write_atomically
from autograder.grading.archive import FOLDER
from autograder.grading.record import fingerprint
from autograder.intake.text import file_name

LONGEST_COMMENT = 5_000


class Refused(Exception):
    """A mark that was not stored; the message is for the person who gave it."""


@dataclass(frozen=True)
class Question:
    """A written question of an assignment, and the progress of marking it."""

    assignment: str
    exercise: str
    points: float
    answers: int
    waiting: int


@dataclass(frozen=True)
class Mark:
    """What the gradebook has for one student's answer.

    score: None while it waits for a person. before: what an earlier text of it was given.
    """

    student: str
    name: str
    score: float | None
    comment: str
    before: float | None = None
    lines: tuple[int, ...] = ()
    by: str = ""


@dataclass(frozen=True)
class NewMark:
    """What a person decided; a score of None makes the answer unmarked again."""

    score: float | None
    comment: str
    lines: tuple[int, ...]
    by: str


def questions(gradebook: Gradebook) -> list[Question]:
    """Every written question of the gradebook's assignments, in order."""
    found = []
    for assignment in gradebook.assignments:
        cells = [c for nb in assignment.notebooks for c in nb.grade_cells if _is_written(c)]
        for cell in cells:
            grades = [grade for grade in cell.grades if _counts(grade)]
            waiting = sum(bool(grade.needs_manual_grade) for grade in grades)
            found.append(Question(assignment.name, cell.name, cell.max_score, len(grades), waiting))
    return found


def _is_written(cell: GradeCell) -> bool:
    return bool(cell.cell_type == "markdown")


def _counts(grade: Grade) -> bool:
    """Whether there is something to read: an empty answer has 0 points from the start."""
    return grade.manual_score is not None or grade.auto_score is None


def read_marks(
    gradebook: Gradebook, course: Path, assignment: str, exercise: str
) -> dict[str, Mark]:
    """The mark of every student who handed in, in one query."""
    chosen = _read_choices(course, assignment, exercise)
    comments = dict(_comments(gradebook, assignment, exercise))
    marks = {}
    for grade, student in _grades(gradebook, assignment, exercise):
        score = None if grade.needs_manual_grade else grade.score
        name = f"{student.first_name or ''} {student.last_name or ''}".strip() or student.id
        choice = chosen.get(student.id, {})
        valid = choice.get("score") == score and score is not None
        marks[student.id] = Mark(
            student.id,
            name,
            score,
            comments.get(student.id, ""),
            grade.manual_score if grade.needs_manual_grade else None,
            tuple(choice.get("lines", ())) if valid else (),
            choice.get("by", "") if valid else "",
        )
    return marks


def _rows(gradebook: Gradebook, kind: Any, assignment: str, exercise: str, *columns: Any) -> Query:
    return (
        gradebook.db.query(*columns)
        .select_from(kind)
        .join(SubmittedNotebook, kind.notebook_id == SubmittedNotebook.id)
        .join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
        .join(Student, SubmittedAssignment.student_id == Student.id)
        .join(BaseCell, kind.cell_id == BaseCell.id)
        .filter(Assignment.name == assignment, BaseCell.name == exercise)
    )


def _grades(gradebook: Gradebook, assignment: str, exercise: str) -> Iterable[Any]:
    return _rows(gradebook, Grade, assignment, exercise, Grade, Student).all()


def _comments(gradebook: Gradebook, assignment: str, exercise: str) -> Iterable[Any]:
    rows = _rows(gradebook, Comment, assignment, exercise, Student.id, Comment.manual_comment)
    return [(student, text) for student, text in rows if text]


def used_comments(marks: Iterable[Mark]) -> list[str]:
    """The comments on this question, most used first."""
    counts = Counter(mark.comment for mark in marks if mark.comment)
    return [text for text, _ in counts.most_common(30)]


def version(marks: Sequence[Mark]) -> str:
    """Changes when any of these marks does."""
    content = sorted((mark.student, mark.score, mark.comment) for mark in marks)
    return fingerprint(json.dumps(content).encode())[:16]


def write_mark(
    gradebook: Gradebook,
    course: Path,
    question: Question,
    students: Sequence[str],
    mark: NewMark,
) -> None:
    """Store one decision for all students with the same answer. Raises Refused if it is impossible."""
    check(mark, question.points)
    rows = {s.id: g for g, s in _grades(gradebook, question.assignment, question.exercise)}
    for student in students:
        grade = rows[student]
        if mark.score is not None or not grade.needs_manual_grade:  # else: only a comment
            grade.manual_score = mark.score
            grade.needs_manual_grade = mark.score is None and grade.auto_score is None
        comment = gradebook.find_comment(
            question.exercise, grade.notebook.name, question.assignment, student
        )
        comment.manual_comment = mark.comment or None
    gradebook.db.commit()
    _write_choices(course, question, students, mark)


def check(mark: NewMark, points: float) -> None:
    """Raise Refused for points outside the question's range, or for an endless comment."""
    if mark.score is not None and not (math.isfinite(mark.score) and 0 <= mark.score <= points):
        raise Refused(f"This question gives 0 to {points:g} points, not {mark.score:g}.")
    if len(mark.comment) > LONGEST_COMMENT:
        raise Refused(f"A comment may have at most {LONGEST_COMMENT:,} characters.")


def _choices_path(course: Path, assignment: str, exercise: str) -> Path:
    return course / FOLDER / "marking" / file_name(assignment) / f"{file_name(exercise)}.json"


def _read_choices(course: Path, assignment: str, exercise: str) -> Mapping[str, dict]:
    try:
        found = json.loads(_choices_path(course, assignment, exercise).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write_choices(
    course: Path, question: Question, students: Sequence[str], mark: NewMark
) -> None:
    path = _choices_path(course, question.assignment, question.exercise)
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        chosen = dict(_read_choices(course, question.assignment, question.exercise))
        entry = {"score": mark.score, "lines": list(mark.lines), "by": mark.by}
        chosen |= {student: entry for student in students}
        write_atomically(path, json.dumps(chosen, ensure_ascii=False, indent=1).encode())
