"""nbgrader's generate_assignment: from a source notebook to the one that students open."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass

from traitlets.config import Config

from autograder.nbgrader_parts.configuration import alembic_on_path


class ReleaseFailed(Exception):
    """nbgrader could not make the students' notebook; the message quotes it."""


@dataclass(frozen=True)
class ReleasedCell:
    """A cell as nbgrader stores it in the gradebook, with hidden tests and rubric."""

    name: str
    cell_type: str
    source: str
    checksum: str | None
    locked: bool
    solution: bool
    points: float | None  # None if nothing is graded


def generate_assignment(config: Config, into_gradebook: bool) -> list[ReleasedCell]:
    """Write `release/` of a course directory; also enter the cells into the gradebook if asked to.

    `config` comes from `configuration.for_course`. The cells are given back either way.
    """
    # they import nbconvert, which takes longer than all the rest of grading's imports
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory

    from autograder.nbgrader_parts.collect_cells import CollectCells

    config.GenerateAssignment.force = True
    config.GenerateAssignment.no_database = not into_gradebook
    config.SaveCells.enabled = into_gradebook
    converter = GenerateAssignment(coursedir=CourseDirectory(config=config), config=config)
    alembic_on_path()
    with _only_complaints(converter.log) as complaints:
        try:
            converter.start()
        except (Exception, SystemExit) as problem:
            raise ReleaseFailed(complaints.last or str(problem)) from problem
    return CollectCells.found


@contextlib.contextmanager
def _only_complaints(log: logging.Logger) -> Iterator[_Complaints]:
    """Keep what nbgrader logs before it exits, for our own sentence."""
    before, complaints = (log.level, log.propagate, log.handlers, log.disabled), _Complaints()
    # another library's logging set-up may have switched it off
    log.level, log.propagate, log.handlers, log.disabled = logging.ERROR, False, [complaints], False
    try:
        yield complaints
    finally:
        log.level, log.propagate, log.handlers, log.disabled = before


class _Complaints(logging.Handler):
    """Keeps the last line of the traceback that nbgrader logs, which is the reason."""

    last = ""

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage().strip()
        if "Traceback" in message:
            self.last = message.splitlines()[-1]
