"""A course directory, made ready for the grading of an assignment by one run at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from autograder import build
from autograder.course_files import CourseError
from autograder.grading.archive import FOLDER
from autograder.nbgrader_parts import configuration
from autograder.nbgrader_parts.database import has_assignment, without_password
from autograder.nbgrader_parts.release import ReleaseFailed, generate_assignment


def prepare_course(course: Path, assignment: str, url: str) -> None:
    """Make the folder, its configuration and the assignment's entry in the gradebook."""
    course.mkdir(parents=True, exist_ok=True)
    configuration.write_new_file(course)
    try:
        if has_assignment(url, assignment):
            return
    except Exception as problem:
        raise CourseError(
            f"The gradebook {without_password(url)} cannot be opened: {problem}"
        ) from problem
    enter_assignment(course, assignment, url)


def enter_assignment(course: Path, assignment: str, url: str) -> None:
    """Let nbgrader make the assignment from its source and enter its cells into the gradebook."""
    if not (course / "source" / assignment / f"{assignment}.ipynb").is_file():
        try:
            build.write_source_tree(course, [assignment])
        except build.BuildError as problem:
            raise CourseError(str(problem)) from problem
    config = configuration.for_course(course, assignment, url)
    # nbgrader's steps open the gradebook under this name; PostgreSQL insists that it is the same
    config.CourseDirectory.course_id = "default_course"
    try:
        generate_assignment(config, into_gradebook=True)
    except ReleaseFailed as problem:
        raise CourseError(
            f"nbgrader could not enter {assignment} into the gradebook: {problem}. "
            f"Try `nbgrader generate_assignment {assignment}` in {course} to see why."
        ) from problem


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
