"""Copies of the gradebook, made before every command that writes it: marks by hand exist only there."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from autograder.course_files import CourseError
from autograder.grading.archive import FOLDER

KEPT = 10


def sqlite_path(url: str) -> Path | None:
    """The file of a gradebook in SQLite; None for any other database."""
    return Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite:///") else None


def folder(course: Path) -> Path:
    return course / FOLDER / "backups"


def backups(course: Path) -> list[Path]:
    """The copies there are, oldest first."""
    return sorted(folder(course).glob("gradebook-*.db"))


def back_up(course: Path, url: str) -> Path | None:
    """Copy the gradebook unless the newest copy is the same; the last ten copies are kept.

    None where there is nothing to copy: no gradebook yet, or one in another database, which has its
    own backups. Raises CourseError for a damaged gradebook.
    """
    path = sqlite_path(url)
    if path is None or not path.is_file() or path.stat().st_size == 0:
        return None
    check(course, path)
    target = folder(course) / f"gradebook-{datetime.now(UTC):%Y-%m-%dT%H-%M-%S.%f}.db"
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(".unfinished")
    try:
        with closing(sqlite3.connect(path)) as book, closing(sqlite3.connect(unfinished)) as copy:
            book.backup(copy)
    except (sqlite3.Error, OSError) as problem:
        unfinished.unlink(missing_ok=True)
        raise CourseError(
            f"{path.name} can't be copied before it is written ({problem}), so nothing was "
            "changed. Close what uses it, or free some disk space, and try again."
        ) from None
    there = backups(course)
    if there and _digest(there[-1]) == _digest(unfinished):
        unfinished.unlink()
        return there[-1]
    unfinished.rename(target)
    for old in backups(course)[:-KEPT]:
        old.unlink()
    return target


def check(course: Path, path: Path) -> None:
    """Raise a CourseError with a remedy if the file is damaged."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as book:
            found = book.execute("pragma quick_check(1)").fetchone()[0]
    except sqlite3.OperationalError:
        return  # locked, or not to be read by us: whoever opens it says so
    except sqlite3.DatabaseError as problem:
        found = str(problem)
    if found != "ok":
        raise damaged(course, path, found)


def damaged(course: Path, path: Path, why: str) -> CourseError:
    """What to do about a gradebook that can't be read."""
    why = " ".join(why.split())[:160]
    there = [copy for copy in backups(course) if _is_sound(copy)]
    if not there:
        return CourseError(
            f"{path} is damaged ({why}), and there is no copy of it in {folder(course)}. Move it "
            f"away and run `autograder grade` on the submissions again: points come back. Marks "
            f"given by hand do not; `sqlite3 {path.name} .recover` may still find them."
        )
    newest = there[-1]
    when = newest.stem.removeprefix("gradebook-").partition(".")[0].replace("T", ", ")
    return CourseError(
        f"{path} is damaged ({why}). The newest sound copy is from {when} UTC. Take it with\n"
        f"  cp {newest} {path}\n"
        "then run `autograder regrade` for each assignment: points are brought up to date, and "
        "marks by hand are those of the copy."
    )


def _is_sound(path: Path) -> bool:
    with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as book:
        return book.execute("pragma quick_check(1)").fetchone()[0] == "ok"
    return False


def _digest(path: Path) -> str:
    """Of the content: SQLite's file has a counter in it that changes with every copy."""
    digest = hashlib.sha256()
    with closing(sqlite3.connect(path)) as book:
        for line in book.iterdump():
            digest.update(line.encode())
    return digest.hexdigest()
