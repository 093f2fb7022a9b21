"""One submission under supervision: what it may write, use and take, until it has ended."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

from autograder.box import walls, watch
from autograder.box.choice import NAMESPACES, NO_WALL
from autograder.box.groups import Group
from autograder.box.job import Limits, Outcome

SHOWN_CHARACTERS = 20_000
WATCH_EVERY = 0.05
SETUP_FAILED = 97  # the inner process exits with this status if a wall could not be raised
GONE = -1  # the process between us and the submission ended without a report


class Supervision:
    """Reads the output of one job within limits, and ends the job if it goes beyond them."""

    def __init__(
        self,
        report: socket.socket,
        frame_out: int,
        printed_out: int,
        limits: Limits,
        wall_seconds: float,
        wall: str,
        group: Group,
        overfull: Callable[[], bool] | None = None,
        closed: Callable[[], bool] = lambda: False,
    ):
        self.report = report
        self.frame, self.printed = bytearray(), bytearray()
        self.sinks = {frame_out: self.frame, printed_out: self.printed}
        self.limits = limits
        self.wall_seconds = wall_seconds
        self.wall = wall
        self.group = group
        self.overfull = overfull
        self.closed = closed
        self.handle: int | None = None
        self.pid: int | None = None
        self.exit_status: int | None = None
        self.stopped: str | None = None
        self.refused: str | None = None
        self.seconds = 0.0  # of CPU time
        self.out_of_memory = False

    @property
    def ended(self) -> bool:
        """Whether the process between us and the submission has seen all of it end."""
        return self.exit_status is not None and self.exit_status != GONE

    def outcome(self) -> Outcome:
        """Wait for the end of the job and return its outcome."""
        try:
            self._follow()
            self._read_the_rest()
        finally:
            self._kill()
            if self.handle is not None:
                os.close(self.handle)
            self.out_of_memory = self.group.ran_out_of_memory()
            self.group.remove()
        shown = bytes(self.printed[: 4 * SHOWN_CHARACTERS]).decode("utf-8", "replace")
        return self._describe(shown[:SHOWN_CHARACTERS])

    def _follow(self) -> None:
        for descriptor in self.sinks:
            os.set_blocking(descriptor, False)
        poll = select.poll()
        for descriptor in (self.report.fileno(), *self.sinks):
            poll.register(descriptor, select.POLLIN | select.POLLHUP)
        deadline = time.monotonic() + self.wall_seconds
        next_watch = time.monotonic() + WATCH_EVERY
        while self.exit_status is None:
            now = time.monotonic()
            if self.stopped is None and self.closed():
                self.refused = "The run was stopped."
                self._stop("closed")
                return
            if self.stopped is None and now > deadline:
                self._stop("timeout")
                if self.pid is None:
                    return
            if self.stopped is None and now > next_watch and self.pid is not None:
                next_watch = now + WATCH_EVERY
                self._watch(self.pid)
            pause = 10.0 if self.stopped else max(0.0, min(deadline, next_watch) - now)
            events = poll.poll(pause * 1000 + 1)
            if not events and self.stopped is not None:
                return  # killed, but its end was not reported: leave it to the kernel
            for descriptor, _ in events:
                if descriptor not in self.sinks:
                    self._read_report()
                elif not self._read(descriptor):
                    poll.unregister(descriptor)

    def _watch(self, pid: int) -> None:
        too_large = watch.too_large(pid, self.limits.memory_bytes, 2 * self.limits.processes)
        # the kernel may have killed a child first, and its parent would wait until time is up
        if too_large or self.group.ran_out_of_memory():
            self._stop("memory")
        elif self.overfull is not None and self.overfull():
            self._stop("output")

    def _read(self, descriptor: int) -> bool:
        """Read what is waiting, never far beyond the limit; False at the end."""
        sink, most = self.sinks[descriptor], self.limits.output_bytes
        try:
            block = os.read(descriptor, min(1 << 20, most + 1))
        except OSError:
            return False
        sink.extend(block)
        if len(sink) > most and self.stopped is None:
            self._stop("output")
        return bool(block)

    def _read_the_rest(self) -> None:
        for descriptor, sink in self.sinks.items():
            while self._read(descriptor) and len(sink) <= self.limits.output_bytes:
                pass

    def _read_report(self) -> None:
        """Read a report from the process in the middle: a refusal, a process number or an end."""
        message, handles, _, _ = socket.recv_fds(self.report, 4096, 1)
        if not message:
            self.exit_status = GONE
            return
        word = json.loads(message)
        if "refused" in word:
            self.refused, self.exit_status = word["refused"], GONE
        elif "waiting" in word:
            self.group.take(self._here(handles, word["waiting"]))
            for handle in handles:
                os.close(handle)
            self.report.send(b"go")
        elif "pid" in word:
            self.handle = handles[0] if handles else None
            self.pid = self._here(handles, word["pid"])
            if self.stopped is not None:
                self._kill()
        else:
            self.exit_status, self.seconds = word["exit"], word["seconds"]

    def _here(self, handles: list[int], inside: int) -> int:
        """The number that a process has on this side of the wall."""
        namespaced = handles and self.wall == NAMESPACES
        return (host_pid(handles[0]) if namespaced else None) or inside

    def _stop(self, reason: str) -> None:
        self.stopped = reason
        self._kill()

    def _kill(self) -> None:
        """End the inner process; the first of a pid namespace takes all others with it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self.handle is not None:
                signal.pidfd_send_signal(self.handle, signal.SIGKILL)
            elif self.wall != NAMESPACES and self.pid is not None and self.exit_status is None:
                os.kill(self.pid, signal.SIGKILL)
        if self.wall == NO_WALL and self.pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def _describe(self, shown: str) -> Outcome:
        if self.refused is not None:
            return Outcome("refused", None, walls.explain(self.refused), shown)
        if self.stopped is not None:
            return Outcome(self.stopped, None, self._why_stopped(self.stopped), shown)
        if self.exit_status is None or self.exit_status < 0:
            return self._killed(shown)
        if os.WIFSIGNALED(self.exit_status):
            return self._ended_by(os.WTERMSIG(self.exit_status), shown)
        code = os.WEXITSTATUS(self.exit_status)
        if code == SETUP_FAILED:
            return Outcome("refused", None, walls.explain(shown.strip()), "")
        if not self.frame:
            said = f"It exited Python (status {code}) before it could be tested."
            return Outcome("crashed", None, said, shown)
        return Outcome("ok", bytes(self.frame), "", shown)

    def _why_stopped(self, reason: str) -> str:
        limits = self.limits
        if reason == "timeout":
            return f"It was stopped after {self.wall_seconds:g} s."
        if reason == "output":
            return f"It was stopped: it wrote more than {limits.output_bytes >> 20} MB."
        return (
            f"It was stopped: it used more than {limits.memory_bytes >> 20} MB of memory "
            f"or more than {2 * limits.processes} processes."
        )

    def _ended_by(self, number: int, shown: str) -> Outcome:
        used_up = self.seconds > self.limits.cpu_seconds - 1
        if number == signal.SIGKILL and not used_up:
            # the first process of a pid namespace can't kill itself; without one, a submission can
            if self.wall == NAMESPACES or self.out_of_memory:
                return self._killed(shown)
            said = "Python was killed with SIGKILL, by the answer or by the machine."
            return Outcome("crashed", None, said, shown)
        if number in (signal.SIGXCPU, signal.SIGKILL):
            said = f"It was stopped after {self.limits.cpu_seconds} s of computing."
            return Outcome("timeout", None, said, shown)
        name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
        return Outcome("crashed", None, f"Python was killed with {name}.", shown)

    def _killed(self, shown: str) -> Outcome:
        """The kernel ended it: at its group's limit, or through no fault of its own."""
        if self.out_of_memory:
            return Outcome("memory", None, self._why_stopped("memory"), shown)
        said = f"It was killed from outside after {self.seconds:.1f} s of computing."
        return Outcome("killed", None, said, shown)


def host_pid(handle: int) -> int | None:
    """The number on this side of the wall of the process behind a pidfd."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/self/fdinfo/{handle}").read_text().splitlines():
            if line.startswith("Pid:") and int(line.split()[1]) > 0:
                return int(line.split()[1])
    return None
