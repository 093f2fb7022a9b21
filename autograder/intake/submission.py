"""What one student handed in, in the form that the rest of the grader uses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from nbformat import NotebookNode


@dataclass(frozen=True)
class Rebuilt:
    """A release notebook with a student's answers (None if there was nothing to read)."""

    notebook: NotebookNode | None
    repairs: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sender:
    """How the learning system identifies a sender; feedback is returned under these names."""

    system: str = ""  # "canvas", "moodle", "gradescope", "nbgrader", "github" or not known
    user: str = ""  # Canvas's user number, Moodle's participant number, GitHub's login
    attachment: str = ""  # Canvas's number of the file
    name: str = ""  # the outermost name: Canvas's file, Moodle's folder


NOBODY = Sender()


@dataclass(frozen=True)
class Submission:
    """One student's work for one assignment: rebuilt, together with the original bytes."""

    student: str
    assignment: str
    notebook: NotebookNode | None
    original: bytes
    source_name: str
    repairs: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    timestamp: datetime | None = None
    sender: Sender = NOBODY
