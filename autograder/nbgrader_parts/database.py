"""Where a course's gradebook is, and what it stores about an assignment."""

from __future__ import annotations

import contextlib
import importlib.util
from pathlib import Path

from autograder.grading.student import StoredCell
from autograder.nbgrader_parts.configuration import alembic_on_path, own_settings


def gradebook_url(course: Path, given: str | None = None) -> str:
    """The gradebook: from --db, or the course's own setting, or else gradebook.db in it."""
    if given:
        return with_driver(given)
    config = own_settings(course)
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


def without_password(url: str) -> str:
    from sqlalchemy.engine import make_url

    with contextlib.suppress(Exception):
        return make_url(url).render_as_string(hide_password=True)
    return "that was given"


def why_not(problem: BaseException) -> str:
    """Why a gradebook can't be used, in one sentence, and what to do if somebody else uses it."""
    own = str(getattr(problem, "orig", None) or problem).strip().split("\n")[0][:160].rstrip(".")
    remedy = ""
    if "locked" in own or "busy" in own:
        remedy = " Close whatever else uses it (formgrader, another command), and try again."
    elif "full" in own:
        remedy = " Free some disk space, and try again."
    return f"{own}.{remedy}"


def has_assignment(url: str, assignment: str) -> bool:
    """Whether the gradebook knows the cells of an assignment; makes a gradebook if there is none."""
    from nbgrader.api import Gradebook, MissingEntry

    alembic_on_path()
    with Gradebook(url) as gradebook:
        try:
            return bool(gradebook.find_assignment(assignment).notebooks)
        except MissingEntry:
            return False


def stored_cells(url: str, assignment: str) -> dict[str, StoredCell]:
    """Every cell of an assignment, as stored in the gradebook."""
    from nbgrader.api import Gradebook

    with Gradebook(url) as gradebook:
        notebook = gradebook.find_notebook(assignment, assignment)
        return {c.name: StoredCell(c.source, c.checksum, c.locked) for c in notebook.source_cells}
