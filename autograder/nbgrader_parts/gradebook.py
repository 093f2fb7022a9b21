"""The only writer of the gradebook: many submissions in one transaction, all or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from nbgrader.api import (
    Assignment,
    Grade,
    Gradebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy.exc import OperationalError
from traitlets.config import Config

from autograder import choices
from autograder.cell_names import exercise_of
from autograder.grading.record import SubmissionRecord, WrittenRecord
from autograder.intake import Student as Person
from autograder.nbgrader_parts.late import late_penalty, late_plugin, naive_utc

DETAILS = ("first_name", "last_name", "email")


@dataclass(frozen=True)
class Entry:
    """What to store about one submission, and its previous record, if any."""

    record: SubmissionRecord
    scores: Mapping[str, float | None]
    comments: Mapping[str, str | None]
    before: SubmissionRecord | None = None
    timestamp: datetime | None = None  # only if files were handed in again

    @property
    def student(self) -> str:
        return self.record.student


class GradebookWriter:
    """Writes entries of one assignment through nbgrader's own objects."""

    def __init__(
        self,
        url: str,
        assignment: str,
        config: Config | None = None,
        roster: Iterable[Person] = (),
        course: Path | None = None,
    ):
        self.assignment = assignment
        self.gradebook = Gradebook(url)
        self.known = {person.id: details(person) for person in roster}
        self.late = late_plugin(config)
        # nbgrader commits after each small step; here everything waits for the end of a batch,
        # goes to the database in a few statements, and `write` commits once
        self.session = self.gradebook.db()
        self.students = {student.id for student in self.gradebook.students}
        self.gradebook.db.commit = lambda: None
        notebooks = self.gradebook.find_assignment(assignment).notebooks
        self.names = {
            cell.id: cell.name
            for notebook in notebooks
            for cell in (*notebook.grade_cells, *notebook.solution_cells, *notebook.task_cells)
        }
        self.worth = {c.id: c.max_score for notebook in notebooks for c in notebook.grade_cells}
        chosen = choices.read(course) if course else choices.Choices()
        self.full_marks, self.zone = chosen.full_marks, chosen.zone
        if self.known:
            self._describe_students()
            self.write([])

    def write(self, entries: list[Entry]) -> None:
        """Write all entries, or none of them if anything goes wrong."""
        try:
            new = self._add_students(entries)
            there = self._submissions(entries)
            with self.session.no_autoflush:
                for entry in entries:
                    if entry.record.graded:
                        self._write_one(entry, there.get(entry.student))
            self.session.commit()
            self.students |= new
        except OperationalError as problem:
            self.session.rollback()
            raise RuntimeError(
                f"The gradebook could not be written ({problem.orig}). Nothing in this batch was "
                "stored. Close whatever else uses it, and run the same command again."
            ) from problem
        except BaseException:
            self.session.rollback()
            raise

    def _describe_students(self) -> None:
        """Update students who are already in the gradebook from the roster."""
        for student in self.gradebook.students:
            for name, text in self.known.get(student.id, {}).items():
                setattr(student, name, text)

    def _add_students(self, entries: list[Entry]) -> set[str]:
        new = {entry.student for entry in entries} - self.students
        self.session.add_all(Student(id=name, **self.known.get(name, {})) for name in sorted(new))
        self.session.flush()
        return new

    def _submissions(self, entries: list[Entry]) -> dict[str, SubmittedAssignment]:
        """What the gradebook already contains about these students."""
        found = (
            self.session.query(SubmittedAssignment)
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
            .filter(Assignment.name == self.assignment)
            .filter(SubmittedAssignment.student_id.in_([entry.student for entry in entries]))
        )
        return {submission.student_id: submission for submission in found}

    def _write_one(self, entry: Entry, submission: SubmittedAssignment | None) -> None:
        if submission is None:
            submission = self.gradebook.add_submission(self.assignment, entry.student)
        if entry.timestamp:
            submission.timestamp = naive_utc(entry.timestamp)
        elif entry.before is not None and entry.before.sha256 != entry.record.sha256:
            submission.timestamp = None  # another file, and nobody knows when it arrived
        for notebook in submission.notebooks:
            for grade in notebook.grades:
                name = self.names.get(grade.cell_id, "")
                if name in entry.scores:
                    grade.auto_score = entry.scores[name]
                    settle_review(grade, name, entry.before, entry.record.written)
                    count(grade, self.worth[grade.cell_id], exercise_of(name) in self.full_marks)
            for comment in notebook.comments:
                name = self.names.get(comment.cell_id, "")
                if name in entry.comments:
                    comment.auto_comment = entry.comments[name]
            self._penalise(submission, notebook)

    def _penalise(self, submission: SubmittedAssignment, notebook: SubmittedNotebook) -> None:
        """Like nbgrader's AssignLatePenalties, which by default deducts nothing."""
        notebook.late_submission_penalty = None
        if submission.total_seconds_late > 0:
            self.session.flush()
            self.session.refresh(notebook)
            notebook.late_submission_penalty = late_penalty(
                self.late, submission, notebook, self.zone
            )

    def close(self) -> None:
        self.gradebook.close()


def details(person: Person) -> dict[str, str]:
    """A student's data on the roster; what it leaves blank may have been entered by hand."""
    return {name: text for name in DETAILS if (text := getattr(person, name))}


def count(grade: Grade, worth: float, full_marks: bool) -> None:
    """What a grade counts under the class's rules: never more than the cell is worth.

    An exercise that does not count is worth nothing in the gradebook, and nobody has to read it.
    """
    if full_marks or not worth:
        grade.auto_score, grade.needs_manual_grade = worth, False
    elif grade.auto_score is not None:
        grade.auto_score = min(grade.auto_score, worth)


def settle_review(
    grade: Grade,
    name: str,
    before: SubmissionRecord | None,
    written: Mapping[str, WrittenRecord],
) -> None:
    """Whether a person must look (again) at the grade of the cell called `name`.

    nbgrader puts every answer with a manual score back on the pile at each regrade. A score that
    a person gave stays valid as long as what it was given for is the same: the text of a written
    answer, or the points of a checked one.
    """
    grade.needs_manual_grade = grade.auto_score is None and grade.manual_score is None
    if grade.manual_score is None:
        return
    if name in written:
        text = before.written.get(name) if before else None
        grade.needs_manual_grade = text is None or text.sha256 != written[name].sha256
    else:
        checked = before.exercise(exercise_of(name)) if before else None
        grade.needs_manual_grade = checked is None or checked.points != grade.auto_score
