"""A submission's memory and processes, counted from outside the box."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import psutil


def descendants(pid: int, at_most: int) -> list[int]:
    """This process and all below it. Inside a pid namespace no process can leave its tree.

    psutil's `children` reads every process on the machine, which is too slow to do every 50 ms, and
    it has no bound. The kernel's own list has neither problem.
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
    """All pages in memory: quick, but it includes those that are shared with the zygote."""
    try:
        return psutil.Process(pid).memory_info().rss
    except psutil.Error:  # it has just ended
        return 0


def fair_share_bytes(pid: int) -> int:
    """Like resident_bytes, but a page shared by n processes counts as 1/n: exact, but slower."""
    try:
        return psutil.Process(pid).memory_full_info().pss
    except psutil.Error:
        return resident_bytes(pid)


def too_large(pid: int, memory_bytes: int, processes: int) -> bool:
    """Whether the tree below `pid` uses too much; counted exactly only if the quick count does."""
    tree = descendants(pid, processes)
    if len(tree) > processes:
        return True
    total = sum(resident_bytes(member) for member in tree)
    if total > memory_bytes and len(tree) > 1:
        total = sum(fair_share_bytes(member) for member in tree)
    return total > memory_bytes
