"""The attack suite runs where only so many processes may be: a second net below the box's own."""

import contextlib
import os
import resource
import time
from pathlib import Path

import pytest

MOST_PROCESSES = 600
VERSION_1 = Path("/sys/fs/cgroup/pids")
VERSION_2 = Path("/sys/fs/cgroup")


@contextlib.contextmanager
def limited_group(parent: Path):
    """A control group for this process and all it starts, removed afterwards."""
    group = parent / f"attacks-{os.getpid()}"
    group.mkdir()
    try:
        (group / "pids.max").write_text(str(MOST_PROCESSES))
        before = own_group(parent)
        (group / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            (before / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        for _ in range(40):  # what was started in it may take a moment to end
            try:
                group.rmdir()
                break
            except OSError:
                time.sleep(0.05)


def own_group(parent: Path) -> Path:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        if (parent == VERSION_1 and names == "pids") or (parent == VERSION_2 and names == ""):
            return parent / path.lstrip("/")
    return parent


@contextlib.contextmanager
def limited_user():
    """For an ordinary user the kernel counts processes itself."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    mine = sum(1 for p in Path("/proc").glob("[0-9]*") if p.stat().st_uid == os.getuid())
    wanted = mine + MOST_PROCESSES
    resource.setrlimit(resource.RLIMIT_NPROC, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NPROC, (soft, hard))


@pytest.fixture(scope="session", autouse=True)
def few_processes():
    """Put this test run into a pids-limited place, or don't run it at all."""
    for parent in (VERSION_1, VERSION_2):
        usable = (parent / "cgroup.procs").exists() and os.access(parent, os.W_OK)
        version_2_counts = parent == VERSION_1 or "pids" in (
            (parent / "cgroup.subtree_control").read_text()
            if (parent / "cgroup.subtree_control").exists()
            else ""
        )
        if usable and version_2_counts:
            with limited_group(parent):
                yield
            return
    if os.getuid() == 0:
        pytest.skip("root's processes can't be limited here: no control group for pids")
    with limited_user():
        yield
