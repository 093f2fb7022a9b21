"""Opens a course directory: its gradebook, its roster and its grading records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nbgrader
from alembic.script import ScriptDirectory
from nbgrader.api import Gradebook, MissingEntry
from sqlalchemy import create_engine, text
from sqlalchemy.exc import SQLAlchemyError

from autograder import choices
from autograder.course_files import CourseError
from autograder.grading import archive
from autograder.grading.record import SubmissionRecord
from autograder.intake import Student, read_roster
from autograder.nbgrader_parts import backups
from autograder.nbgrader_parts.configuration import alembic_on_path
from autograder.nbgrader_parts.database import gradebook_url, why_not
from autograder.nbgrader_parts.exporters import ROSTER


@dataclass(frozen=True)
class Course:
    """A course directory in nbgrader's layout, and the address of its gradebook."""

    root: Path
    db_url: str

    def folder(self, step: str, student: str, assignment: str) -> Path:
        return self.root / step / student / assignment


def open_course(root: Path | str = ".", db: str | None = None) -> Course:
    """Open the course in a directory, apply its choices, and back up its gradebook.

    Raises CourseError if there is none that can be used. Every command that opens a course may write
    to its gradebook: late penalties are recalculated before grades go anywhere.
    """
    root = Path(root).resolve()
    if not root.is_dir():
        raise CourseError(f"There is no course directory {root}. Make one with `autograder demo`.")
    url = gradebook_url(root, db)
    path = backups.sqlite_path(url)
    if path is not None and not path.exists():
        raise CourseError(
            f"{root} has no gradebook ({path.name}). Grade an assignment first, or name another "
            "course directory with --course."
        )
    _check_version(url, root, path)
    choices.use(root)
    backups.back_up(root, url)
    return Course(root, url)


def _check_version(url: str, root: Path, path: Path | None) -> None:
    """Refuse a gradebook from another version of nbgrader, and a damaged one."""
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            found = connection.execute(text("select version_num from alembic_version")).scalar()
    except SQLAlchemyError as problem:
        if path is not None:
            backups.check(root, path)
        what = path.name if path else "The database"
        raise CourseError(
            f"{what} is not a gradebook that this nbgrader can read ({_first_line(problem)}). If "
            "it is from an older version, run `nbgrader db upgrade` in the course directory."
        ) from None
    finally:
        engine.dispose()
    scripts = ScriptDirectory(str(Path(nbgrader.__file__).with_name("alembic")))
    if found != scripts.get_current_head():
        raise CourseError(
            f"The gradebook is from another version of nbgrader ({found}). Run `nbgrader db "
            "upgrade` in the course directory; nothing was changed."
        )


def _first_line(problem: Exception) -> str:
    return str(problem).split("\n")[0][:160]


@contextmanager
def open_gradebook(course: Course) -> Iterator[Gradebook]:
    """The gradebook, closed again afterwards; its errors become one sentence."""
    alembic_on_path()
    try:
        with Gradebook(course.db_url) as gradebook:
            yield gradebook
    except SQLAlchemyError as problem:
        raise CourseError(f"The gradebook can't be used: {why_not(problem)}") from problem


def assignments_in(gradebook: Gradebook, wanted: tuple[str, ...] = ()) -> list[str]:
    """The wanted assignments, or all of them; an unknown name is an error."""
    there = [assignment.name for assignment in gradebook.assignments]
    missing = [name for name in wanted if name not in there]
    if missing:
        known = ", ".join(there) or "none yet"
        raise CourseError(f"The gradebook has no assignment {', '.join(missing)}. It has: {known}.")
    return list(wanted) or there


def require_student(gradebook: Gradebook, student: str) -> None:
    try:
        gradebook.find_student(student)
    except MissingEntry:
        raise CourseError(f"The gradebook has no student called {student}.") from None


def roster_of(course: Course, given: Path | None = None) -> dict[str, Student]:
    """The roster by student id: from the given file, or from roster.csv of the course, if any."""
    path = given or course.root / ROSTER
    if given is None and not path.exists():
        return {}
    return {student.id: student for student in read_roster(path)}


def records_of(course: Course, assignment: str) -> dict[str, SubmissionRecord]:
    """The latest record of each student's submission."""
    return {entry.student: entry for entry in archive.records(course.root, assignment)}
