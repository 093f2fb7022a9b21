"""The course directory: nbgrader's folders and gradebook, made ready for an assignment."""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode

from autograder import build
from autograder.grading.record import FOLDER

CONFIG = """# Our steps in nbgrader's pipeline. Your own settings go below: c.ClassName.name = value
from autograder.nbgrader_config import configure

c = get_config()
configure(c)
"""


class CourseError(RuntimeError):
    """The course directory cannot be used as it is; the message says what to do."""


def environment_on_path() -> None:
    """nbgrader calls `alembic` by its name when it makes a gradebook."""
    here = str(Path(sys.executable).parent)
    if here not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = here + os.pathsep + os.environ.get("PATH", "")


def gradebook_url(course: Path, given: str | None = None) -> str:
    """The gradebook: what --db says, else the course's own setting, else gradebook.db in it."""
    if given:
        return with_driver(given)
    config = course_config(course)
    own = config.CourseDirectory.get("db_url") if "CourseDirectory" in config else None
    if isinstance(own, str):
        return with_driver(own)
    return f"sqlite:///{course.resolve() / 'gradebook.db'}"


def with_driver(url: str) -> str:
    """SQLAlchemy 2.1 takes a PostgreSQL URL for psycopg 3; the course installs psycopg 2."""
    plain = ("postgresql://", "postgres://")
    if url.startswith(plain) and importlib.util.find_spec("psycopg") is None:
        return "postgresql+psycopg2://" + url.split("://", 1)[1]
    return url


def course_config(course: Path):
    """What the course's nbgrader_config.py sets."""
    from traitlets.config import Config
    from traitlets.config.loader import PyFileConfigLoader

    if not (course / "nbgrader_config.py").is_file():
        return Config()
    try:
        return PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()
    except Exception as problem:
        raise CourseError(f"{course / 'nbgrader_config.py'} cannot be read: {problem}") from problem


def prepare(course: Path, assignment: str, url: str) -> None:
    """Make the folder, its configuration and the assignment's entry in the gradebook."""
    from nbgrader.api import Gradebook, MissingEntry

    environment_on_path()
    course.mkdir(parents=True, exist_ok=True)
    if not (course / "nbgrader_config.py").exists():
        (course / "nbgrader_config.py").write_text(CONFIG)
    try:
        with Gradebook(url) as gradebook:
            try:
                if gradebook.find_assignment(assignment).notebooks:
                    return
            except MissingEntry:
                pass
    except Exception as problem:
        raise CourseError(
            f"The gradebook {without_password(url)} cannot be opened: {problem}"
        ) from problem
    register_assignment(course, assignment, url)


def without_password(url: str) -> str:
    from sqlalchemy.engine import make_url

    with contextlib.suppress(Exception):
        return make_url(url).render_as_string(hide_password=True)
    return "that was given"


def register_assignment(course: Path, assignment: str, url: str) -> None:
    """Let nbgrader make the assignment from its source and enter its cells into the gradebook."""
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory

    if not (course / "source" / assignment / f"{assignment}.ipynb").is_file():
        try:
            build.write_source_tree(course, [assignment])
        except build.BuildError as problem:
            raise CourseError(str(problem)) from problem
    config = build.nbgrader_config(course.resolve())
    config.CourseDirectory.assignment_id = assignment
    config.CourseDirectory.db_url = url
    # nbgrader's steps open the gradebook under this name; PostgreSQL insists that it is the same
    config.CourseDirectory.course_id = "default_course"
    config.GenerateAssignment.force = True
    converter = GenerateAssignment(coursedir=CourseDirectory(config=config), config=config)
    converter.log.propagate = False
    converter.log.disabled = True
    try:
        converter.start()
    except (Exception, SystemExit) as problem:
        raise CourseError(
            f"nbgrader could not enter {assignment} into the gradebook: {problem}. "
            f"Try `nbgrader generate_assignment {assignment}` in {course} to see why."
        ) from problem


def stored_cells(url: str, assignment: str) -> dict[str, tuple[str, str, bool]]:
    """Every cell of an assignment as the gradebook has it: source, checksum, locked."""
    from nbgrader.api import Gradebook

    with Gradebook(url) as gradebook:
        notebook = gradebook.find_notebook(assignment, assignment)
        return {c.name: (c.source, c.checksum, c.locked) for c in notebook.source_cells}


def restore_locked(notebook: NotebookNode, cells: dict[str, tuple[str, str, bool]]) -> None:
    """As nbgrader's OverwriteCells: locked cells get the instructor's text, with its rubric."""
    for cell in notebook.cells:
        own = cell.metadata.get("nbgrader", {})
        if own.get("grade_id") in cells:
            source, checksum, locked = cells[own["grade_id"]]
            own["checksum"] = checksum
            if locked:
                cell.source = source


@contextlib.contextmanager
def only_writer(course: Path) -> Iterator[None]:
    """One grading run a course at a time: the gradebook has one writer."""
    folder = course / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise CourseError(
                f"Another run is grading in {course}. Wait until it is done, or stop it."
            ) from None
        yield
