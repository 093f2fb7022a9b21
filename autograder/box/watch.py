"""Memory and processes of a submission, counted from outside the box."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import psutil


def descendants(pid: int, at_most: int) -> list[int]:
    """This process and all below it. Inside a pid namespace no process can leave its tree.

    psutil's `children` reads every process of the machine, which is too slow for a look every
    50 ms, and it has no bound; the kernel's own list has neither problem.
    """
    found: list[int] = []
    waiting = [pid]
    while waiting and len(found) <= at_most:
        current = waiting.pop()
        found.append(current)
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{current}/task"):
                with contextlib.suppress(OSError):
                    text = Path(f"/proc/{current}/task/{task}/children").read_text()
                    waiting.extend(int(word) for word in text.split())
    return found


def resident_bytes(pid: int) -> int:
    """All pages in memory: quick, but it counts what is shared with the zygote as its own."""
    try:
        return psutil.Process(pid).memory_info().rss
    except psutil.Error:  # it has just ended
        return 0


def fair_share_bytes(pid: int) -> int:
    """As resident_bytes, but a page shared by n processes counts one nth: exact, and slower."""
    try:
        return psutil.Process(pid).memory_full_info().pss
    except psutil.Error:
        return resident_bytes(pid)


def too_large(pid: int, memory_bytes: int, processes: int) -> bool:
    """Whether the tree below pid uses more than it may; exact only where the quick count is."""
    tree = descendants(pid, processes)
    if len(tree) > processes:
        return True
    total = sum(resident_bytes(member) for member in tree)
    if total > memory_bytes and len(tree) > 1:
        total = sum(fair_share_bytes(member) for member in tree)
    return total > memory_bytes
