"""Files of a course directory: written whole or not at all, with errors in one sentence."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path


class CourseError(RuntimeError):
    """The course directory can't be used as it is; the message explains what to do."""


NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def why_not_written(problem: OSError) -> str:
    """Why nothing can be written, for whoever can change that."""
    said = f"{problem.strerror or problem}" + (f" ({problem.filename})" if problem.filename else "")
    if problem.errno in NO_ROOM:
        return (
            f"{said}. Free some disk space, then run the same command again: what is stored stays."
        )
    if problem.errno == errno.EROFS:
        return f"{said}. Make the course directory writable, then run the same command again."
    return f"{said}."


def write_atomically(path: Path, content: bytes) -> None:
    """Write the whole file or nothing, whatever happens in the meantime."""
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
