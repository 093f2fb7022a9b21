"""The box as the grader sees it: jobs go in, untrusted bytes come out, whatever the job does."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import IO, Any

from autograder.box import folders, groups, inside, walls
from autograder.box.choice import NAMESPACES, OTHER_USER, choose_wall
from autograder.box.job import Job, Limits, Outcome, pack_job
from autograder.box.other_user import Place, Places
from autograder.box.supervision import Supervision

MODULES = (
    "numpy",
    "tqdm.auto",
    "torch.nn.functional",
    "course_utils",
    "course_utils.checks.probes",
)
PLOTTING = ("matplotlib.pyplot", "matplotlib_inline.backend_inline")
START_SECONDS = 180.0


class ZygoteGone(RuntimeError):
    """The warm process ended; a new one has to be started."""


class Box:
    """A warm process behind walls that runs up to `workers` submissions side by side.

    The default is one worker per core. Use it as a context manager; `run` may be called from
    several threads. The `modules` are imported at once, those in `also` only at the first `wait` or
    `run`, so they can still be set to what an assignment needs. The plotting modules take longest
    and are imported for the first job that mentions them. `wall` is the wall in use once the box has
    started; pass one to insist on it.
    """

    def __init__(
        self,
        workers: int | None = None,
        limits: Limits | None = None,
        unsafe: bool = False,
        modules: tuple[str, ...] = MODULES,
        also: tuple[str, ...] = (),
        wall: str = "",
    ):
        self.workers = workers or os.cpu_count() or 1
        self.limits = limits or Limits()
        self.unsafe = unsafe
        self.modules = modules
        self.also = also
        self.wall = wall
        self._places: Places | None = None
        self._starting = threading.Lock()
        self._sending = threading.Lock()
        self._process: subprocess.Popen | None = None
        self._control: socket.socket | None = None
        self._folder: Path | None = None
        self._owner: IO | None = None
        self._ready = False
        self._plots = False
        self._closed = False
        self._groups = groups.find()

    def __enter__(self) -> Box:
        self.start()
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    def start(self) -> None:
        """Start the warm process; it imports torch while the caller carries on."""
        self.wall = self.wall or choose_wall(self.unsafe)
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
                self._folder = None
            if self._owner is not None:
                self._owner.close()
                self._owner = None

    def run(self, job: Job, wall_seconds: float | None = None) -> Outcome:
        """Run one job in a fresh child and return its outcome. A job can never make it raise."""
        for _ in range(2):
            try:
                self._wait_until_ready()
                outcome = self._run_once(job, wall_seconds or self.limits.wall_seconds)
                if outcome.status != "killed":
                    return outcome
                problem = f"{outcome.message} The machine caused this, and it happened twice"
            except ZygoteGone as gone:
                problem = str(gone)
                if self._closed:
                    break
        return Outcome("refused", None, f"The box could not run this submission: {problem}.", "")

    @property
    def has_groups(self) -> bool:
        return bool(self._groups.version)

    @property
    def counting(self) -> str:
        """A phrase for how memory and processes are limited on this machine."""
        return self._groups.said

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
            groups.remove_abandoned(self._groups)
            self._folder, self._owner = folders.new_folder()
            inside.copy_course(self._folder / "packages")
            (self._folder / "runs").mkdir()
            if self.wall == OTHER_USER:
                copy_fonts(self._folder / "runs")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        settings: dict[str, Any] = {
            "control": theirs.fileno(),
            "wall": self.wall,
            "modules": list(self.modules),
            "limits": asdict(self.limits),
            "folder": str(self._folder / "runs"),
            "kept": walls.bound_below("/tmp"),
        }
        packages = [str(folder) for folder in walls.package_folders()]
        inner_home = str(self._folder / "runs")
        if self.wall != NAMESPACES:
            wrapper, script = [], str(walls.HERE / "zygote.py")
            settings["paths"] = [str(self._folder / "packages"), *packages]
        else:
            wrapper = walls.command(self._folder / "packages", font_cache())
            script = "/box/zygote.py"
            settings["paths"] = ["/box/packages", *packages]
        line = [*wrapper, str(walls.interpreter()), "-S", "-E", "-s", script]
        self._log = open(self._folder / "zygote.log", "wb")  # noqa: SIM115 - closed in _end
        self._process = subprocess.Popen(
            [*line, json.dumps(settings)],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env=None
            if self.wall == NAMESPACES
            else {**walls.environment(inner_home), **walls.LARGE_PAGES},
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        self._control, self._ready, self._plots = ours, False, False
        if self.wall == OTHER_USER and self._places is None:
            self._places = Places(self._folder, self.workers, self._folder / "packages")

    def _end(self) -> None:
        if self._control is not None:
            self._control.close()  # the zygote sees the connection close and exits
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
            assert self._control is not None and self._folder is not None
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
                raise ZygoteGone(walls.explain(said.splitlines()[-1]))
            self._control.settimeout(None)
            self._ready = True

    # --- one submission ---

    def _run_once(self, job: Job, wall_seconds: float) -> Outcome:
        if self._places is None:
            return self._run_at(None, job, wall_seconds)[0]
        place, ended = self._places.take(), False
        try:
            outcome, ended = self._run_at(place, job, wall_seconds)
            return outcome
        finally:
            self._places.give_back(place, ended)

    def _run_at(self, place: Place | None, job: Job, wall_seconds: float) -> tuple[Outcome, bool]:
        """The outcome of a job, and whether all its processes are known to have ended."""
        where = {} if place is None else {"root": str(place.root), "user": place.user}
        overfull = None if place is None else partial(place.overfull, self.limits.file_bytes)
        with contextlib.ExitStack() as open_files:
            paper = open_files.enter_context(new_paper())
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
                    if names_plots(job) and not self._plots:
                        self._control.send(json.dumps(PLOTTING).encode())
                        self._plots = True
                    descriptors = [paper.fileno(), frame_in, printed_in, theirs.fileno()]
                    socket.send_fds(self._control, [json.dumps(where).encode()], descriptors)
            except OSError as problem:
                raise ZygoteGone(str(problem)) from problem
            finally:
                os.close(frame_in)
                os.close(printed_in)
                theirs.close()
            supervision = Supervision(
                *(ours, frame_out, printed_out, self.limits, wall_seconds, self.wall),
                groups.Group(self._groups, self.limits),
                overfull,
                closed=lambda: self._closed,
            )
            return supervision.outcome(), supervision.ended


def new_paper() -> IO[bytes]:
    """A file without a name for one job; in memory, where the system can do that."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("job"), "w+b")
    return tempfile.TemporaryFile()


def names_plots(job: Job) -> bool:
    return any(word in cell for cell in job.cells for word in ("matplotlib", "pylab"))


def copy_fonts(home: Path) -> None:
    """Let a warm process outside the first wall find matplotlib's list of fonts too."""
    if (fonts := font_cache()) is not None:
        (home / ".cache" / "matplotlib").mkdir(parents=True)
        shutil.copy(fonts, home / ".cache" / "matplotlib")


def font_cache() -> Path | None:
    """matplotlib's list of fonts, if this user has one: building it again takes seconds."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "matplotlib"
    lists = sorted(cache.glob("fontlist-v*.json"))
    return lists[-1] if lists else None
