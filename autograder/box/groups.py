"""A submission's memory and processes, limited by a kernel control group where that is possible.

A group counts what polling the processes cannot: socket buffers and other kernel memory, and
processes that begin and end between two polls. Version 1 of the interface has one tree per
controller, version 2 a single tree for all. Who may create a group depends on the machine: root
may, and an ordinary user may if a group was delegated to that user.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from autograder.box.job import Limits

NAME = "autograder-box-"
# what each version calls its limits, and the file in which it counts the processes it had to end
LIMITS = {1: ("memory.limit_in_bytes", "pids.max"), 2: ("memory.max", "pids.max")}
ENDED = {1: "memory.oom_control", 2: "memory.events"}


@dataclass(frozen=True)
class Interface:
    """Where groups can be created, by controller; `said`: the version, or why there is none."""

    said: str
    places: dict[str, Path]
    version: int = 0


def find(processes: str = "/proc/self/cgroup", mounts: str = "/proc/self/mounts") -> Interface:
    """The interface that this process may use; version 1 is tried first if both are available."""
    own = _own_groups(processes)
    tried = []
    for version, places in ((1, _version_1(own, mounts)), (2, _version_2(own, mounts))):
        problem = _why_not(places, version)
        if not problem:
            return Interface(f"limited by a control group, version {version}", places, version)
        tried.append(f"version {version}: {problem}")
    return Interface(f"counted every 50 ms, without a control group ({'; '.join(tried)})", {})


def _own_groups(processes: str) -> dict[str, str]:
    """The group path of this process for each controller; version 2 has the empty name."""
    found = {}
    with contextlib.suppress(OSError):
        for line in Path(processes).read_text().splitlines():
            _, names, path = line.split(":", 2)
            found.update(dict.fromkeys(names.split(","), path))
    return found


def _mounted(kind: str, mounts: str) -> list[tuple[Path, set[str]]]:
    found = []
    with contextlib.suppress(OSError):
        for line in Path(mounts).read_text().splitlines():
            _, place, what, options, *_ = line.split()
            if what == kind:
                found.append((Path(place), set(options.split(","))))
    return found


def _version_1(own: dict[str, str], mounts: str) -> dict[str, Path]:
    places: dict[str, Path] = {}
    for place, options in _mounted("cgroup", mounts):
        for name in ("memory", "pids"):
            if name in options and name in own:
                inner = place / own[name].lstrip("/")
                # in a container the path may be the host's, while the mount is already this group
                places[name] = inner if inner.is_dir() else place
    return places


def _version_2(own: dict[str, str], mounts: str) -> dict[str, Path]:
    for place, _ in _mounted("cgroup2", mounts):
        inner = place / own.get("", "/").lstrip("/")
        here = inner if inner.is_dir() else place
        with contextlib.suppress(OSError):
            given = (here / "cgroup.subtree_control").read_text().split()
            if not {"memory", "pids"} <= set(given):
                (here / "cgroup.subtree_control").write_text("+memory +pids")
            return {"memory": here, "pids": here}
    return {}


def _why_not(places: dict[str, Path], version: int) -> str:
    """Try to create a group with a memory limit there, and return why it can't be done, or ""."""
    if "memory" not in places:
        return "not available"
    for place in set(places.values()):
        trial = place / f"{NAME}{os.getpid()}-trial-{time.monotonic_ns()}"
        try:
            trial.mkdir()
            if place == places["memory"] and not (trial / LIMITS[version][0]).exists():
                return "it does not limit memory"
        except OSError as problem:
            return problem.strerror or str(problem)
        finally:
            with contextlib.suppress(OSError):
                trial.rmdir()
    return ""


class Group:
    """The group of one submission. Without an interface it does nothing."""

    def __init__(self, interface: Interface, limits: Limits):
        self.version = interface.version
        self.folders: list[Path] = []
        values = dict(
            zip(LIMITS.get(self.version, ()), (limits.memory_bytes, 2 * limits.processes))
        )
        try:
            for place in dict.fromkeys(interface.places.values()):
                folder = place / f"{NAME}{os.getpid()}-{time.monotonic_ns()}"
                folder.mkdir()
                self.folders.append(folder)
                for name, value in values.items():
                    if (folder / name).exists():
                        (folder / name).write_text(str(value))
        except OSError:  # no group can be created: the supervisor's own counts still apply
            self.remove()

    def take(self, pid: int) -> None:
        """Put a process into the group; everything that it starts will be in it too."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                (folder / "cgroup.procs").write_text(str(pid))

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel killed a process of this group because of its memory limit."""
        for folder in self.folders:
            with contextlib.suppress(OSError, ValueError):
                for line in (folder / ENDED[self.version]).read_text().splitlines():
                    if line.startswith("oom_kill "):
                        return int(line.split()[1]) > 0
        return False

    def remove(self) -> None:
        """Remove the group: its processes have been killed, but may take a moment to end."""
        for folder in self.folders:
            for _ in range(100):
                try:
                    folder.rmdir()
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.002)
        self.folders = []


def remove_abandoned(interface: Interface) -> None:
    """Remove the groups that killed graders left behind; the kernel keeps those that are in use."""
    for place in set(interface.places.values()):
        for folder in place.glob(f"{NAME}*"):
            with contextlib.suppress(OSError):
                folder.rmdir()
