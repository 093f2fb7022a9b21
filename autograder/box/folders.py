"""Our folders among the system's temporary files, and the removal of those that dead graders left.

A grader that is killed cannot remove its folder, so the next one does. Each owner holds a lock in
its folder, and the kernel releases it when the owner ends, however it ends. A process number would
not do: by then it could belong to another process.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

PREFIX = "box-"  # what the box needs
HANDED_IN = "handed-in-"  # what came out of students' zips
OWNER = "owner.lock"


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """An empty folder for what comes out of zips, removed at the end or at the next start."""
    remove_abandoned()
    folder, lock = new_folder(HANDED_IN)
    try:
        (folder / "files").mkdir()
        yield folder / "files"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()


def new_folder(prefix: str = PREFIX) -> tuple[Path, IO]:
    """A new folder, and the lock that marks it as in use for as long as the file is open."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    # locked before it gets its name, so nobody ever sees a living owner's folder unlocked
    lock = open(folder / f"{OWNER}.new", "wb")  # noqa: SIM115 - stays open as long as the box lives
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.rename(lock.name, folder / OWNER)
    return folder, lock


def remove_abandoned() -> list[Path]:
    """Remove the folders that dead graders left behind and return their paths; touch no others."""
    removed = []
    place = Path(tempfile.gettempdir())
    for folder in (*place.glob(f"{PREFIX}*"), *place.glob(f"{HANDED_IN}*")):
        with contextlib.suppress(OSError):  # somebody else's, in use, or just removed by another
            if not is_ours(folder.lstat(), stat.S_ISDIR):
                continue
            if not is_ours((folder / OWNER).lstat(), stat.S_ISREG):
                continue
            with open(folder / OWNER, "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
                removed.append(folder)
    return removed


def is_ours(found: os.stat_result, kind) -> bool:
    """Whether it belongs to this user and is what it should be, not a link to something else."""
    return kind(found.st_mode) and found.st_uid == os.getuid()
