"""What one student handed in, as the rest of the grader sees it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from nbformat import NotebookNode


@dataclass(frozen=True)
class Rebuilt:
    """A release notebook with a student's answers in it (None when there was nothing to read)."""

    notebook: NotebookNode | None
    repairs: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sender:
    """How the learning system names who handed in: feedback goes back under these."""

    system: str = ""  # "canvas", "moodle", "gradescope", "nbgrader", "github" or not known
    user: str = ""  # Canvas's user number, Moodle's participant number, GitHub's login
    attachment: str = ""  # Canvas's number of the file
    name: str = ""  # the outermost name: Canvas's file, Moodle's folder


NOBODY = Sender()


@dataclass(frozen=True)
class Submission:
    """One student's work for one assignment: rebuilt, with the bytes that came in beside it."""

    student: str
    assignment: str
    notebook: NotebookNode | None
    original: bytes
    source_name: str
    repairs: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    timestamp: datetime | None = None
    sender: Sender = NOBODY
