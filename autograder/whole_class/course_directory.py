"""A course directory, made ready for the grading of an assignment by one run at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from autograder.course_files import CourseError
from autograder.grading.archive import FOLDER
from autograder.nbgrader_parts import configuration
from autograder.nbgrader_parts.database import has_assignment, why_not, without_password
from autograder.whole_class.following import Agree, always, bring_along, enter


def prepare_course(course: Path, assignment: str, url: str, agree: Agree = always) -> None:
    """Make the folder, its configuration and the assignment's entry in the gradebook.

    An assignment that exists already is updated, after `agree` was shown what changes for whom.
    """
    course.mkdir(parents=True, exist_ok=True)
    configuration.write_new_file(course)
    try:
        there = has_assignment(url, assignment)
    except Exception as problem:
        raise CourseError(
            f"The gradebook {without_password(url)} cannot be opened: {why_not(problem)}"
        ) from problem
    if there:
        bring_along(course, assignment, url, agree)
    else:
        enter(course, assignment, url)


@contextlib.contextmanager
def only_writer(course: Path) -> Iterator[None]:
    """One grading run per course at a time: the gradebook has one writer."""
    folder = course / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise CourseError(
            f"Another run is grading in {course}. Wait until it is done, or stop it."
        ) from None
    try:
        yield
    finally:
        lock.release()
