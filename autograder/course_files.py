"""Files of a course directory: written whole or not at all, with errors in one sentence."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


class CourseError(RuntimeError):
    """The course directory cannot be used as it is; the message says what to do."""


def write_atomically(path: Path, content: bytes) -> None:
    """Write the whole file or nothing, whatever happens meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_for_people(path: Path, content: str) -> None:
    """Write a file that a command was asked for. Raises CourseError if it cannot."""
    try:
        write_atomically(path, content.encode())
    except OSError as problem:
        raise CourseError(
            f"{path} can't be written: {problem.strerror}. Nothing was changed there."
        ) from None
