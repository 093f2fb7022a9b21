"""The box as the grader sees it: jobs in, untrusted bytes out, whatever the job did meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import IO

from autograder.box import folders, inside, walls, watch
from autograder.box.job import Job, Limits, Outcome, pack_job

MODULES = (
    "numpy",
    "tqdm.auto",
    "torch.nn.functional",
    "course_utils",
    "course_utils.checks.probes",
)
PLOTTING = ("matplotlib.pyplot", "matplotlib_inline.backend_inline")
SHOWN_CHARACTERS = 20_000
START_SECONDS = 180.0
WATCH_EVERY = 0.05
SETUP_FAILED = 97


class ZygoteGone(RuntimeError):
    """The warm process ended; a new one has to be started."""


class Box:
    """A warm process behind walls that runs up to `workers` submissions side by side.

    Use it as a context manager. `run` may be called from several threads. Its `modules` are
    imported at once, those in `also` only at the first `wait` or `run`: until then they can be
    set to what an assignment needs. What plots takes longest, and waits for the first job that
    speaks of it.
    """

    def __init__(
        self,
        workers: int = 2,
        limits: Limits | None = None,
        unsafe: bool = False,
        modules: tuple[str, ...] = MODULES,
        also: tuple[str, ...] = (),
    ):
        self.workers = workers
        self.limits = limits or Limits()
        self.unsafe = unsafe
        self.modules = modules
        self.also = also
        self._starting = threading.Lock()
        self._sending = threading.Lock()
        self._process: subprocess.Popen | None = None
        self._control: socket.socket | None = None
        self._folder: Path | None = None
        self._owner: IO | None = None
        self._ready = False
        self._plots = False
        self._closed = False

    def __enter__(self) -> Box:
        self.start()
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    def start(self) -> None:
        """Start the warm process; it imports torch while the caller goes on."""
        if not self.unsafe and (reason := walls.why_unavailable()):
            raise walls.BoxUnavailable(
                f"{reason} To grade without isolation, on submissions you trust, say --unsafe."
            )
        with self._starting:
            self._launch()

    def wait(self) -> None:
        """Wait until the warm process can take jobs; raise BoxUnavailable if it never will."""
        try:
            self._wait_until_ready()
        except ZygoteGone as gone:
            raise walls.BoxUnavailable(str(gone)) from None

    def close(self) -> None:
        """End the warm process and everything below it, and remove what was written for it."""
        self._closed = True
        with self._starting:
            self._end()
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
                self._owner.close()
                self._folder = None

    def run(self, job: Job, wall_seconds: float | None = None) -> Outcome:
        """Run one job in a fresh child and return what came of it. It never raises for the job."""
        for _ in range(2):
            try:
                self._wait_until_ready()
                return self._run_once(job, wall_seconds or self.limits.wall_seconds)
            except ZygoteGone as gone:
                problem = str(gone)
                if self._closed:
                    break
        return Outcome("refused", None, f"The box could not run this submission: {problem}", "")

    def map(self, jobs: Iterable[Job]) -> Iterator[Outcome]:
        """The outcomes in the order of the jobs, `workers` at a time, reading jobs as needed."""
        with ThreadPoolExecutor(self.workers) as pool:
            waiting: deque[Future] = deque()
            for job in jobs:
                waiting.append(pool.submit(self.run, job))
                if len(waiting) > 2 * self.workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    # --- the warm process ---

    def _launch(self) -> None:
        if self._folder is None:
            folders.remove_abandoned()
            self._folder, self._owner = folders.new_folder()
            inside.copy_course(self._folder / "packages")
            (self._folder / "runs").mkdir()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        settings = {
            "control": theirs.fileno(),
            "walled": not self.unsafe,
            "modules": list(self.modules),
            "limits": asdict(self.limits),
            "folder": str(self._folder / "runs"),
            "kept": walls.bound_below("/tmp"),
        }
        packages = [str(folder) for folder in walls.package_folders()]
        if self.unsafe:
            wrapper, script = [], walls.HERE / "zygote.py"
            settings["paths"] = [str(self._folder / "packages"), *packages]
        else:
            wrapper, script = (
                walls.command(self._folder / "packages", font_cache()),
                "/box/zygote.py",
            )
            settings["paths"] = ["/box/packages", *packages]
        line = [*wrapper, str(walls.interpreter()), "-S", "-E", "-s", str(script)]
        self._log = open(self._folder / "zygote.log", "wb")  # noqa: SIM115 - closed in _end
        self._process = subprocess.Popen(
            [*line, json.dumps(settings)],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env=walls.environment(str(self._folder / "runs")) if self.unsafe else None,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        self._control, self._ready, self._plots = ours, False, False

    def _end(self) -> None:
        if self._control is not None:
            self._control.close()  # the zygote sees the end of the line and leaves
            self._control = None
        if self._process is not None:
            try:
                self._process.wait(2)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
            self._log.close()

    def _wait_until_ready(self) -> None:
        with self._starting:
            if self._closed:
                raise ZygoteGone("it was closed")
            if self._process is None or self._process.poll() is not None:
                self._end()
                self._launch()
            if self._ready:
                return
            self._control.settimeout(START_SECONDS)
            try:
                self._control.send(json.dumps(self.also).encode())
                word = self._control.recv(16)
            except OSError as problem:
                word = str(problem).encode()
            if word != b"ready":
                self._end()
                said = (self._folder / "zygote.log").read_text(errors="replace").strip()
                said = said or f"it did not answer within {START_SECONDS:.0f} s"
                raise ZygoteGone(walls.explain(said.splitlines()[-1]) if said else "no answer")
            self._control.settimeout(None)
            self._ready = True

    # --- one submission ---

    def _run_once(self, job: Job, wall_seconds: float) -> Outcome:
        with contextlib.ExitStack() as open_files:
            paper = open_files.enter_context(tempfile.TemporaryFile())
            paper.write(pack_job(job))
            paper.seek(0)
            frame_out, frame_in = os.pipe()
            printed_out, printed_in = os.pipe()
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            open_files.callback(ours.close)
            open_files.callback(os.close, frame_out)
            open_files.callback(os.close, printed_out)
            try:
                with self._sending:
                    if self._control is None:
                        raise ZygoteGone("it ended")
                    if speaks_of_plots(job) and not self._plots:
                        self._control.send(json.dumps(PLOTTING).encode())
                        self._plots = True
                    descriptors = [paper.fileno(), frame_in, printed_in, theirs.fileno()]
                    socket.send_fds(self._control, [b"job"], descriptors)
            except OSError as problem:
                raise ZygoteGone(str(problem)) from problem
            finally:
                os.close(frame_in)
                os.close(printed_in)
                theirs.close()
            return self._supervise(ours, frame_out, printed_out, wall_seconds)

    def _supervise(
        self, report: socket.socket, frame_out: int, printed_out: int, wall_seconds: float
    ) -> Outcome:
        """Read what comes, within bounds, until the inner process has ended or must end."""
        limits = self.limits
        deadline = time.monotonic() + wall_seconds
        frame, printed = bytearray(), bytearray()
        sinks = {frame_out: frame, printed_out: printed}
        for descriptor in sinks:
            os.set_blocking(descriptor, False)
        poll = select.poll()
        for descriptor in (report.fileno(), *sinks):
            poll.register(descriptor, select.POLLIN | select.POLLHUP)
        handle, pid, exit_status, stopped, refused = None, None, None, None, None
        next_watch = time.monotonic() + WATCH_EVERY
        try:
            while exit_status is None:
                now = time.monotonic()
                if stopped is None and now > deadline:
                    stopped = "timeout"
                    self._stop(handle, pid)
                    if pid is None:
                        break
                if stopped is None and now > next_watch and pid is not None:
                    next_watch = now + WATCH_EVERY
                    if watch.too_large(pid, limits.memory_bytes, 2 * limits.processes):
                        stopped = "memory"
                        self._stop(handle, pid)
                pause = max(0.0, min(deadline, next_watch) - now) if stopped is None else 10.0
                events = poll.poll(pause * 1000 + 1)
                if not events and stopped is not None:
                    break  # killed and still no word of its end: leave it to the kernel
                for descriptor, _ in events:
                    if descriptor in sinks:
                        if not read_some(descriptor, sinks[descriptor], limits.output_bytes):
                            poll.unregister(descriptor)
                        elif len(sinks[descriptor]) > limits.output_bytes and stopped is None:
                            stopped = "output"
                            self._stop(handle, pid)
                        continue
                    message, handles, _, _ = socket.recv_fds(report, 4096, 1)
                    if not message:
                        exit_status = -1  # the middle process is gone: nothing more will come
                        continue
                    word = json.loads(message)
                    if "refused" in word:
                        refused, exit_status = word["refused"], -1
                    elif "pid" in word:
                        handle = handles[0] if handles else None
                        pid = host_pid(handle) if handle is not None and not self.unsafe else None
                        pid = pid or word["pid"]
                        if stopped is not None:
                            self._stop(handle, pid)
                    else:
                        exit_status = word["exit"]
            for descriptor, sink in sinks.items():
                while read_some(descriptor, sink, limits.output_bytes):
                    if len(sink) > limits.output_bytes:
                        stopped = stopped or "output"
                        break
        finally:
            self._stop(handle, pid)
            if handle is not None:
                os.close(handle)
        shown = bytes(printed[: 4 * SHOWN_CHARACTERS]).decode("utf-8", "replace")
        shown = shown[:SHOWN_CHARACTERS]
        return self._outcome(stopped, refused, exit_status, bytes(frame), shown, wall_seconds)

    def _stop(self, handle: int | None, pid: int | None) -> None:
        """End the inner process; the first of a pid namespace takes all others with it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if handle is not None:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        if self.unsafe and pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)

    def _outcome(
        self,
        stopped: str | None,
        refused: str | None,
        exit_status: int | None,
        frame: bytes,
        shown: str,
        wall_seconds: float,
    ) -> Outcome:
        limits = self.limits
        if refused is not None:
            return Outcome("refused", None, walls.explain(refused), shown)
        if stopped == "timeout":
            return Outcome("timeout", None, f"It was stopped after {wall_seconds:g} s.", shown)
        if stopped == "memory":
            return Outcome(
                "memory",
                None,
                f"It was stopped: it used more than {limits.memory_bytes >> 20} MB of memory "
                f"or more than {2 * limits.processes} processes.",
                shown,
            )
        if stopped == "output":
            return Outcome(
                "output",
                None,
                f"It was stopped: it wrote more than {limits.output_bytes >> 20} MB.",
                shown,
            )
        if exit_status is None or exit_status < 0:
            return Outcome("crashed", None, "The process that ran it disappeared.", shown)
        if os.WIFSIGNALED(exit_status):
            number = os.WTERMSIG(exit_status)
            if number in (signal.SIGXCPU, signal.SIGKILL):
                said = f"It was stopped after {limits.cpu_seconds} s of computing."
                return Outcome("timeout", None, said, shown)
            name = signal.Signals(number).name if number in iter(signal.Signals) else str(number)
            return Outcome("crashed", None, f"Python itself was ended by {name}.", shown)
        code = os.WEXITSTATUS(exit_status)
        if code == SETUP_FAILED:
            return Outcome("refused", None, walls.explain(shown.strip()), "")
        if not frame:
            return Outcome(
                "crashed", None, f"It left Python (status {code}) before it could be asked.", shown
            )
        return Outcome("ok", frame, "", shown)


def speaks_of_plots(job: Job) -> bool:
    return any(word in cell for cell in job.cells for word in ("matplotlib", "pylab"))


def read_some(descriptor: int, sink: bytearray, limit: int) -> bool:
    """Move what is waiting into the sink, never far beyond the limit; False at the end."""
    try:
        block = os.read(descriptor, min(1 << 20, limit + 1))
    except BlockingIOError:
        return False
    except OSError:
        return False
    sink.extend(block)
    return bool(block)


def host_pid(handle: int) -> int | None:
    """The number that this side of the wall has for the process behind a pidfd."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/self/fdinfo/{handle}").read_text().splitlines():
            if line.startswith("Pid:") and int(line.split()[1]) > 0:
                return int(line.split()[1])
    return None


def font_cache() -> Path | None:
    """matplotlib's list of fonts, if this user has one: making it anew takes seconds."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "matplotlib"
    lists = sorted(cache.glob("fontlist-v*.json"))
    return lists[-1] if lists else None
