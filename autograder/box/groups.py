"""Memory and processes of a submission, limited by a control group of the kernel where one can be had.

A group counts what looking at processes cannot: socket buffers and other memory of the kernel, and
what begins and ends between two looks. Version 1 of the interface has a tree for each controller,
version 2 one for all. Whether a group may be made depends on the machine: root may, an ordinary
user only where one was delegated.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from autograder.box.job import Limits

NAME = "autograder-box-"
# what each version calls its limits, and the file in which it counts what it had to end
LIMITS = {1: ("memory.limit_in_bytes", "pids.max"), 2: ("memory.max", "pids.max")}
ENDED = {1: "memory.oom_control", 2: "memory.events"}


@dataclass(frozen=True)
class Interface:
    """Where groups can be made, by controller; `said` names the version or tells why there is none."""

    said: str
    places: dict[str, Path]
    version: int = 0


def find(processes: str = "/proc/self/cgroup", mounts: str = "/proc/self/mounts") -> Interface:
    """The interface that this process may use; version 1 is tried first where both are there."""
    own = _own_groups(processes)
    tried = []
    for version, places in ((1, _version_1(own, mounts)), (2, _version_2(own, mounts))):
        problem = _why_not(places, version)
        if not problem:
            return Interface(f"limited by a control group, version {version}", places, version)
        tried.append(f"version {version}: {problem}")
    return Interface(f"counted every 50 ms, without a control group ({'; '.join(tried)})", {})


def _own_groups(processes: str) -> dict[str, str]:
    """The path of this process by controller; version 2 is the empty name."""
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
                # in a container the path may be the host's, and the mount already this group
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
    """Why no group with a limit of memory can be made there; it is tried."""
    if "memory" not in places:
        return "not there"
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
        except OSError:  # no more groups: what the supervisor counts is still counted
            self.remove()

    def take(self, pid: int) -> None:
        """Put a process into it; all that it starts is in it too."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                (folder / "cgroup.procs").write_text(str(pid))

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel ended a process of this group because of its limit."""
        for folder in self.folders:
            with contextlib.suppress(OSError, ValueError):
                for line in (folder / ENDED[self.version]).read_text().splitlines():
                    if line.startswith("oom_kill "):
                        return int(line.split()[1]) > 0
        return False

    def remove(self) -> None:
        """Its processes have been killed; the last may take a moment to end."""
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
    """Remove the groups that killed graders left; one that is in use refuses to go."""
    for place in set(interface.places.values()):
        for folder in place.glob(f"{NAME}*"):
            with contextlib.suppress(OSError):
                folder.rmdir()
