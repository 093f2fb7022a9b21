"""The one writer of the gradebook: many submissions in one transaction, all of it or nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from nbgrader.api import Gradebook
from nbgrader.plugins import LateSubmissionPlugin
from sqlalchemy.exc import OperationalError

from autograder.grading.preprocessors import settle_review


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

    def __init__(self, url: str, assignment: str, config=None):
        self.assignment = assignment
        self.gradebook = Gradebook(url)
        self.late = LateSubmissionPlugin(config=config)
        self.students = {student.id for student in self.gradebook.students}
        # nbgrader commits after each small step; inside a batch these only reach the database's
        # own transaction, and `write` commits once
        self.session = self.gradebook.db()
        self.gradebook.db.commit = self.session.flush

    def write(self, entries: list[Entry]) -> None:
        """Write all entries, or none of them if anything goes wrong."""
        try:
            for entry in entries:
                self._write_one(entry)
            self.session.commit()
        except OperationalError as problem:
            self.session.rollback()
            raise RuntimeError(
                f"The gradebook could not be written ({problem.orig}). Nothing of this part was "
                "stored; close whatever else uses it and start the same command again."
            ) from problem
        except BaseException:
            self.session.rollback()
            raise

    def _write_one(self, entry: Entry) -> None:
        book = self.gradebook
        if entry.student not in self.students:
            book.add_student(entry.student)
            self.students.add(entry.student)
        if not entry.graded:
            return
        when = {"timestamp": naive_utc(entry.timestamp)} if entry.timestamp else {}
        with self.session.no_autoflush:
            submission = book.update_or_create_submission(self.assignment, entry.student, **when)
        for notebook in submission.notebooks:
            for grade in notebook.grades:
                if grade.cell.name in entry.scores:
                    grade.auto_score = entry.scores[grade.cell.name]
                    settle_review(grade, entry.before, entry.written)
            for comment in notebook.comments:
                if comment.cell.name in entry.comments:
                    comment.auto_comment = entry.comments[comment.cell.name]
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


def naive_utc(moment: datetime) -> datetime:
    """nbgrader keeps times in UTC without saying so."""
    from datetime import UTC

    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
