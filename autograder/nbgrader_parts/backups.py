"""Backups of the gradebook before every command that writes to it: marks by hand exist only there."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy.engine import URL, make_url

from autograder.course_files import CourseError
from autograder.grading.archive import FOLDER

KEPT = 10
DUMP_SECONDS = 300
say = logging.getLogger(__name__).warning  # without a handler, a line on stderr


def sqlite_path(url: str) -> Path | None:
    """The file of a gradebook in SQLite; None for any other database."""
    return Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite:///") else None


def folder(course: Path) -> Path:
    return course / FOLDER / "backups"


def backups(course: Path, kind: str = "db") -> list[Path]:
    """All copies, oldest first; those from PostgreSQL have the kind "sql"."""
    return sorted(folder(course).glob(f"gradebook-*.{kind}"))


def back_up(course: Path, url: str) -> Path | None:
    """Copy the gradebook unless the newest copy is the same; the last ten copies are kept.

    None if there is nothing to copy, or no way to copy it, which one sentence then reports. Raises
    CourseError for a damaged gradebook, and if a copy in SQLite fails.
    """
    path = sqlite_path(url)
    if path is None:
        return _dump(course, url)
    if not path.is_file() or path.stat().st_size == 0:
        return None
    check(course, path)
    unfinished = _unfinished(course)
    try:
        with closing(sqlite3.connect(path)) as book, closing(sqlite3.connect(unfinished)) as copy:
            book.backup(copy)
    except (sqlite3.Error, OSError) as problem:
        unfinished.unlink(missing_ok=True)
        raise CourseError(
            f"{path.name} can't be backed up before it is changed ({problem}), so nothing was "
            "changed. Close whatever uses it, or free some disk space, and try again."
        ) from None
    return _keep(course, unfinished, "db")


def _unfinished(course: Path) -> Path:
    target = folder(course) / f"gradebook-{datetime.now(UTC):%Y-%m-%dT%H-%M-%S.%f}.unfinished"
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _keep(course: Path, unfinished: Path, kind: str) -> Path:
    """Give a finished copy its name, unless the newest one has the same content."""
    there = backups(course, kind)
    if there and _digest(there[-1]) == _digest(unfinished, kind):
        unfinished.unlink()
        return there[-1]
    target = unfinished.rename(unfinished.with_suffix(f".{kind}"))
    for old in backups(course, kind)[:-KEPT]:
        old.unlink()
    return target


def _dump(course: Path, url: str) -> Path | None:
    """Copy a gradebook on a server with PostgreSQL's own program, if it is installed."""
    address = make_url(url)
    if address.get_backend_name() != "postgresql":
        say(
            "No backup of the gradebook was made: it is in a database that only its own programs "
            f"can copy ({address.get_backend_name()}), so make one with those."
        )
        return None
    # everybody on this machine can read pg_dump's arguments, so the password is not among them
    password = address.password or address.query.get("password")
    query = {name: value for name, value in address.query.items() if name != "password"}
    place = URL.create(
        "postgresql",
        address.username,
        host=address.host,
        port=address.port,
        database=address.database,
        query=query,
    ).render_as_string()
    by_hand = f"`pg_dump --clean --if-exists --file=gradebook.sql {place}`"
    program = shutil.which("pg_dump")
    if program is None:
        say(
            "No backup of the gradebook was made: pg_dump is not installed here (`apt install "
            f"postgresql-client`), so run {by_hand} on a machine that has it."
        )
        return None
    secret = {"PGPASSWORD": str(password)} if password else {}
    unfinished = _unfinished(course)
    line = [program, "--no-password", "--clean", "--if-exists", "--no-owner", "--no-privileges"]
    try:
        done = subprocess.run(
            [*line, f"--file={unfinished}", place],
            env={**os.environ, **secret},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DUMP_SECONDS,
            check=False,
        )
        problem = done.stderr.decode(errors="replace") if done.returncode else ""
        failed = done.returncode != 0
    except (OSError, subprocess.TimeoutExpired) as error:
        failed, problem = True, str(error)
    if failed:
        unfinished.unlink(missing_ok=True)
        why = " ".join(problem.split())[:300].rstrip(". ")
        say(f"No backup of the gradebook was made ({why}); make one yourself with {by_hand}.")
        return None
    if "\nCREATE TABLE " not in unfinished.read_text(encoding="utf-8", errors="replace"):
        unfinished.unlink()  # the gradebook has not been made yet
        return None
    return _keep(course, unfinished, "sql")


def check(course: Path, path: Path) -> None:
    """Raise a CourseError with a remedy if the file is damaged."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as book:
            found = book.execute("pragma quick_check(1)").fetchone()[0]
    except sqlite3.OperationalError:
        return  # locked, or not readable for us: whoever opens it reports that
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
            f"away and run `autograder grade` on the submissions again, which restores the points. "
            f"Marks by hand are lost, unless `sqlite3 {path.name} .recover` still finds them."
        )
    newest = there[-1]
    when = newest.stem.removeprefix("gradebook-").partition(".")[0].replace("T", ", ")
    return CourseError(
        f"{path} is damaged ({why}). The newest sound copy is from {when} UTC. Restore it with\n"
        f"  cp {newest} {path}\n"
        "then run `autograder regrade` for each assignment. Points are then up to date; marks by "
        "hand are those in the copy."
    )


def _is_sound(path: Path) -> bool:
    with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as book:
        return book.execute("pragma quick_check(1)").fetchone()[0] == "ok"
    return False


def _digest(path: Path, kind: str = "") -> str:
    """A fingerprint of the content: SQLite's file has a counter that changes with every copy.

    Newer versions of pg_dump put a random word at both ends.
    """
    digest = hashlib.sha256()
    if (kind or path.suffix.removeprefix(".")) == "sql":
        with open(path, "rb") as lines:
            for raw in lines:
                if not raw.startswith((b"\\restrict ", b"\\unrestrict ")):
                    digest.update(raw)
        return digest.hexdigest()
    with closing(sqlite3.connect(path)) as book:
        for line in book.iterdump():
            digest.update(line.encode())
    return digest.hexdigest()
