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
