"""The one writer of the gradebook: many submissions in one transaction, all of it or nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from nbgrader.api import Assignment, Gradebook, Student, SubmittedAssignment
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy.exc import OperationalError

from autograder.grading.preprocessors import settle_review
from autograder.intake import Student as Person

DETAILS = ("first_name", "last_name", "email")


@dataclass(frozen=True)
class Entry:
    """What the gradebook is to know about one submission."""

    student: str
    scores: dict[str, float | None]
    comments: dict[str, str | None]
    written: dict[str, dict] = field(default_factory=dict)
    before: dict | None = None
    timestamp: datetime | None = None
    graded: bool = True


class GradebookWriter:
    """Writes entries of one assignment through nbgrader's own objects."""

    def __init__(self, url: str, assignment: str, config=None, roster: Iterable[Person] = ()):
        self.assignment = assignment
        self.gradebook = Gradebook(url)
        self.known = {person.id: details(person) for person in roster}
        self.late = late_plugin(config)
        # nbgrader commits after each small step; here everything waits for the end of a batch,
        # goes to the database in a few statements, and `write` commits once
        self.session = self.gradebook.db()
        self.students = {student.id for student in self.gradebook.students}
        self.gradebook.db.commit = lambda: None
        self.names = {
            cell.id: cell.name
            for notebook in self.gradebook.find_assignment(assignment).notebooks
            for cell in (*notebook.grade_cells, *notebook.solution_cells, *notebook.task_cells)
        }
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
                    if entry.graded:
                        self._write_one(entry, there.get(entry.student))
            self.session.commit()
            self.students |= new
        except OperationalError as problem:
            self.session.rollback()
            raise RuntimeError(
                f"The gradebook could not be written ({problem.orig}). Nothing of this part was "
                "stored; close whatever else uses it and start the same command again."
            ) from problem
        except BaseException:
            self.session.rollback()
            raise

    def _describe_students(self) -> None:
        """Those who are in the gradebook already get what the roster says of them."""
        for student in self.gradebook.students:
            for name, text in self.known.get(student.id, {}).items():
                setattr(student, name, text)

    def _add_students(self, entries: list[Entry]) -> set[str]:
        new = {entry.student for entry in entries} - self.students
        self.session.add_all(Student(id=name, **self.known.get(name, {})) for name in sorted(new))
        self.session.flush()
        return new

    def _submissions(self, entries: list[Entry]) -> dict[str, SubmittedAssignment]:
        """What the gradebook already has of these students."""
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
        for notebook in submission.notebooks:
            for grade in notebook.grades:
                name = self.names.get(grade.cell_id)
                if name in entry.scores:
                    grade.auto_score = entry.scores[name]
                    settle_review(grade, name, entry.before, entry.written)
            for comment in notebook.comments:
                name = self.names.get(comment.cell_id)
                if name in entry.comments:
                    comment.auto_comment = entry.comments[name]
            self._penalise(submission, notebook)

    def _penalise(self, submission, notebook) -> None:
        """As nbgrader's AssignLatePenalties, which by default takes nothing off."""
        notebook.late_submission_penalty = None
        seconds = submission.total_seconds_late
        if seconds > 0:
            self.session.flush()
            self.session.refresh(notebook)
            penalty = self.late.late_submission_penalty(
                submission.student_id, notebook.score, seconds
            )
            if penalty is not None:
                notebook.late_submission_penalty = max(0.0, min(penalty, notebook.score))

    def close(self) -> None:
        self.gradebook.close()


def late_plugin(config) -> LateSubmissionPlugin:
    """What the course says that late days cost: nbgrader's own, or the class that it names."""
    return AssignLatePenalties(config=config).plugin_class(config=config)


def details(person: Person) -> dict[str, str]:
    """What the roster says of a student; what it leaves blank was perhaps entered by hand."""
    return {name: text for name in DETAILS if (text := getattr(person, name))}


def naive_utc(moment: datetime) -> datetime:
    """nbgrader keeps times in UTC without saying so."""
    from datetime import UTC

    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
