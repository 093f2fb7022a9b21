"""Reads and judges submissions within a time limit, in processes that can be killed."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import socket
import subprocess
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from autograder.box import Box, walls
from autograder.grading import reader_process
from autograder.grading.reader_process import HEAD, LARGEST_MESSAGE
from autograder.grading.student import Finished, Setting, Stored, unread
from autograder.grading.verdict import BoxFailed
from autograder.intake import HandedIn
from autograder.intake.files import Allowance, Entry
from autograder.paths import NOTEBOOKS, ROOT

SECONDS = 30.0  # for reading and judging one submission, without its time in the box
MEMORY = 1536 << 20  # bytes for the same; honest submissions take about a tenth
START_SECONDS = 180.0
TRIES = 2  # if a worker ended by itself, the machine may have been the cause
STARTING = (
    "import json, sys; sys.path[:0] = json.loads(sys.argv.pop()); "
    "from autograder.grading.light_start import main; main()"
)


class NotRead(RuntimeError):
    """A submission, or a zip in it, could not be read to its end; the message explains why."""


class Worker:
    """One process at the other end of a connection."""

    def __init__(self, stream: socket.socket):
        self.stream = stream
        self.handle: int | None = None
        self.ready = False
        self.setting: Setting | None = None

    def wait(self) -> None:
        """Wait until it is ready; the warm process may still be importing."""
        if not self.ready:
            self.stream.settimeout(START_SECONDS)
            word, handles, _, _ = socket.recv_fds(self.stream, 5, 1)
            if not word:
                raise EOFError("it did not start")
            self.ready, self.handle = True, handles[0] if handles else None

    def send(self, what: tuple[str, Any]) -> None:
        content = pickle.dumps(what)
        self.stream.sendall(HEAD.pack(len(content), 0) + content)

    def receive(self, until: float) -> tuple[dict, list[bytes | None]]:
        """The next message. Raises TimeoutError, EOFError, OSError or ValueError."""
        sizes = HEAD.unpack(self._read(HEAD.size, until))
        if sum(sizes) > LARGEST_MESSAGE:
            raise ValueError("its result is too large")
        text, rest = (self._read(size, until) for size in sizes)
        return reader_process.unpacked(text, rest)

    def _read(self, size: int, until: float) -> bytes:
        self.stream.settimeout(max(0.001, until - time.monotonic()))
        return reader_process.read_exactly(self.stream, size)

    def end(self) -> None:
        with contextlib.suppress(OSError):
            if self.handle is not None:
                signal.pidfd_send_signal(self.handle, signal.SIGKILL)
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None
        # whoever waits at this end in another thread is woken
        with contextlib.suppress(OSError):
            self.stream.shutdown(socket.SHUT_RDWR)
        self.stream.close()


class ZipBeyond:
    """A zip that a worker reads. If an entry ends the worker, only that entry is lost."""

    def __init__(self, readers: Readers, path: Path):
        self.readers, self.path = readers, path
        self.size = path.stat().st_size
        self._worker: Worker | None = None
        self.infos = self._open()
        self._numbers = {id(info): number for number, info in enumerate(self.infos)}

    def read(self, info: zipfile.ZipInfo, most: int) -> bytes:
        """The bytes of an entry, up to a limit. Raises NotRead."""
        (found,) = self._ask(lambda: ("entry", (self._numbers[id(info)], most)))[1]
        return found or b""

    def close(self) -> None:
        if self._worker is not None:
            self.readers.drop(self._worker)
            self._worker = None

    def _open(self) -> list[zipfile.ZipInfo]:
        header, _ = self._ask(lambda: ("list zip", None))
        return reader_process.read_listed(header)

    def _ask(self, question: Callable[[], tuple[str, Any]]) -> tuple[dict, list[bytes | None]]:
        for left in reversed(range(TRIES)):
            try:
                if self._worker is None:
                    self._worker = self.readers.hold()
                    self._give_file(self._worker)
                self._worker.send(question())
                header, blobs = self._worker.receive(time.monotonic() + self.readers.seconds)
            except TimeoutError:
                self.close()
                raise NotRead(f"it took longer than {self.readers.seconds:g} s.") from None
            except (OSError, EOFError, ValueError) as problem:
                self.close()
                if left == 0:
                    raise NotRead(f"the process that read it was lost ({problem}).") from None
                continue
            if "failed" in header:
                raise NotRead(header["failed"])
            return header, blobs
        raise AssertionError("unreachable")

    def _give_file(self, worker: Worker) -> None:
        with self.path.open("rb") as file:
            worker.send(("open zip", None))
            socket.send_fds(worker.stream, [b"z"], [file.fileno()])


class Readers:
    """Workers behind walls, as many as there are threads that use it. A context manager."""

    def __init__(self, unsafe: bool = False, seconds: float = SECONDS, memory: int = MEMORY):
        self.unsafe, self.seconds, self.memory = unsafe, seconds, memory
        self._changing = threading.RLock()
        self._process: subprocess.Popen | None = None
        self._control: socket.socket | None = None
        self._log: IO[bytes] | None = None
        self._setting: Setting | None = None
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._closed = False

    def __enter__(self) -> Readers:
        self.start()
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    def start(self) -> None:
        """Start the warm process; it imports what it needs while the caller carries on."""
        with self._changing:
            self._launch()

    def close(self) -> None:
        """End every worker at once, whatever it is doing."""
        with self._changing:
            self._closed = True
            for worker in (*self._idle, *self._busy):
                worker.end()
            self._idle.clear()
            self._end()

    def prepare(self, setting: Setting) -> None:
        """Let the warm process draw the questions once, for all workers that come after."""
        with self._changing:
            self._setting = setting
            self._tell_setting()
            while self._idle:
                self._idle.pop().end()

    def unzip(self, data: bytes, name: str, depth: int, allowance: Allowance) -> list[Entry]:
        """The files in a student's zip, as `files.unzip` finds them."""
        try:
            given = (data, name, depth, allowance)
            reply = self._ask("unzip", given, None, reader_process.read_unzipped)
        except NotRead as problem:
            return [Entry(name, problem=f"{name} can't be unpacked: {problem}")]
        found, left = reply
        allowance.entries, allowance.size = left.entries, left.size
        return [Entry(name, problem=problem, data=data) for name, problem, data in found]

    @contextlib.contextmanager
    def open_zip(self, path: Path) -> Iterator[ZipBeyond]:
        """A class's zip, as `files.open_zip` opens it."""
        archive = ZipBeyond(self, path)
        try:
            yield archive
        finally:
            archive.close()

    def finish(self, handed_in: HandedIn, setting: Setting, box: Box) -> Finished:
        """Read, run and judge one student's work. What can't be done becomes a flag."""
        read = handed_in.read()
        try:
            given = (read, box.limits)
            theirs = partial(reader_process.read_finished, read.student, setting.assignment)
            return self._ask("finish", given, setting, theirs, box)
        except NotRead as problem:
            return unread(read, setting, str(problem))

    def judge_again(self, stored: Stored, setting: Setting, box: Box) -> Finished:
        """Judge a stored notebook again. Raises NotRead, or BoxFailed if the box failed."""
        given, student = (stored, box.limits), stored.record.student
        theirs = partial(reader_process.read_finished, student, setting.assignment)
        return self._ask("judge again", given, setting, theirs, box)

    def try_reading(self, data: bytes) -> None:
        """Read and clean a notebook as nbgrader's steps do. Raises NotRead if that fails."""
        self._ask("read", data, None, lambda header, blobs: None)

    # --- one request ---

    def _ask(
        self,
        kind: str,
        given: Any,
        setting: Setting | None,
        read: Callable[[dict, list[bytes | None]], Any],
        box: Box | None = None,
    ) -> Any:
        """A worker's reply to one request; a lost worker is replaced once."""
        for left in reversed(range(TRIES)):
            worker = None
            try:
                worker = self._worker()
                self._wait_for(worker)
                if setting is not None and worker.setting is not setting:
                    worker.send(("setting", setting))
                    worker.setting = setting
                worker.send((kind, given))
                header, blobs = self._follow(worker, box)
                if "box failed" in header:
                    self._give_back(worker)
                    raise BoxFailed(header["box failed"])
                if "failed" in header:
                    self.drop(worker)
                    raise NotRead(f"reading it failed ({header['failed']}).")
                reply = read(header, blobs)
            except TimeoutError:
                self.drop(worker)
                raise NotRead(
                    f"reading and judging it took longer than {self.seconds:g} s."
                ) from None
            except (OSError, EOFError, ValueError, KeyError, TypeError) as problem:
                self.drop(worker)
                if left == 0 or self._closed:
                    raise NotRead(f"the process that read it was lost ({problem}).") from None
                continue
            self._give_back(worker)
            return reply
        raise AssertionError("unreachable")

    def _follow(self, worker: Worker, box: Box | None) -> tuple[dict, list[bytes | None]]:
        """Run what the worker asks for in the box; only the worker's own time is counted."""
        left = self.seconds
        while True:
            started = time.monotonic()
            header, blobs = worker.receive(started + left)
            left -= time.monotonic() - started
            if "run" not in header or box is None:
                return header, blobs
            job, seconds = reader_process.read_job(header, blobs)
            outcome = box.run(job, seconds)
            content = pickle.dumps(outcome)
            worker.stream.sendall(HEAD.pack(len(content), 0) + content)

    # --- the processes ---

    def hold(self) -> Worker:
        """A worker for several requests; whoever asks for it ends it with `drop`."""
        worker = self._worker()
        try:
            self._wait_for(worker)
        except BaseException:
            self.drop(worker)
            raise
        return worker

    def _worker(self) -> Worker:
        with self._changing:
            if self._closed:
                raise NotRead("the run was stopped.")
            worker = self._idle.pop() if self._idle else self._new_worker()
            self._busy.add(worker)
            return worker

    def _new_worker(self) -> Worker:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._launch()
        assert self._control is not None
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._control, [b"worker"], [theirs.fileno()])
        return Worker(ours)

    def _wait_for(self, worker: Worker) -> None:
        try:
            worker.wait()
        except (OSError, EOFError) as problem:
            said = self._last_words()
            raise EOFError(said or str(problem)) from None

    def _last_words(self) -> str:
        """The last line that the warm process wrote, which it does only if it fails."""
        if self._log is None:
            return ""
        written = os.pread(
            self._log.fileno(), 4096, max(0, os.fstat(self._log.fileno()).st_size - 4096)
        )
        return written.decode(errors="replace").strip().rpartition("\n")[2]

    def _give_back(self, worker: Worker) -> None:
        with self._changing:
            self._busy.discard(worker)
            current = self._setting is None or worker.setting is self._setting
            if self._closed or not current:
                worker.end()
            else:
                self._idle.append(worker)

    def drop(self, worker: Worker | None) -> None:
        """End a worker, whatever it is doing."""
        if worker is not None:
            with self._changing:
                self._busy.discard(worker)
                worker.end()

    def _launch(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        visible = [ROOT / "autograder", ROOT / "course_utils", NOTEBOOKS]
        walled = not self.unsafe and walls.why_unavailable() is None
        wrapper = walls.reading_room(visible) if walled else []
        places = [str(ROOT), *map(str, walls.package_folders())]
        line = [str(walls.interpreter()), "-S", "-E", "-s", "-P", "-c", STARTING]
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed in _end
        self._process = subprocess.Popen(
            [*wrapper, *line, str(theirs.fileno()), str(self.memory), json.dumps(places)],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        self._control = ours
        if self._setting is not None:
            self._tell_setting()

    def _tell_setting(self) -> None:
        if self._control is None:
            return
        with tempfile.TemporaryFile() as paper:
            pickle.dump(self._setting, paper)
            paper.flush()
            with contextlib.suppress(OSError):  # it has ended: the next one will get the setting
                socket.send_fds(self._control, [b"setting"], [paper.fileno()])

    def _end(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
        if self._log is not None:
            self._log.close()
            self._log = None
