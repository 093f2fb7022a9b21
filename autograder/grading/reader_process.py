"""The process that reads submissions: it can be killed without harm to the rest of the class.

A warm process imports everything once and forks a worker whenever it is asked to. A worker
unpacks, rebuilds and judges; what has to run in the box it hands back to the grader. The grader
sends pickles (they are its own), and gets JSON and bytes back: whatever a submission makes of a
worker, nothing in its replies is run.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pickle
import resource
import signal
import socket
import struct
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import nbformat

from autograder.box import Job, Limits, Outcome
from autograder.grading import clean, record
from autograder.grading.grade import prepare_questions
from autograder.grading.releases import releases_as_read
from autograder.grading.student import Finished, Setting, finish, judge_again
from autograder.grading.verdict import BoxFailed
from autograder.intake.cells import read_document
from autograder.intake.files import MOST_ENTRIES_OF_CLASS, Allowance, ZipHere, unzip
from course_utils import register

LARGEST_MESSAGE = 512 << 20
LISTED = ("filename", "flag_bits", "external_attr", "file_size", "compress_size")
HEAD = struct.Struct("<QQ")  # the lengths of the JSON and of the bytes after it


# ---- messages ----


def packed(header: dict, blobs: Sequence[bytes | None] = ()) -> bytes:
    """A worker's message: JSON, then bytes."""
    sizes = [None if blob is None else len(blob) for blob in blobs]
    text = json.dumps({**header, "sizes": sizes}).encode()
    rest = b"".join(blob for blob in blobs if blob is not None)
    return HEAD.pack(len(text), len(rest)) + text + rest


def unpacked(text: bytes, rest: bytes) -> tuple[dict, list[bytes | None]]:
    """Read what `packed` made. Raises ValueError, KeyError or TypeError for anything else."""
    header, blobs, start = json.loads(text), [], 0
    for size in header.pop("sizes"):
        blobs.append(None if size is None else rest[start : start + size])
        start += size or 0
    return header, blobs


def finished_message(item: Finished) -> bytes:
    header = {
        "finished": {
            "record": record.as_json(item.record),
            "scores": item.scores,
            "comments": item.comments,
        }
    }
    return packed(header, [item.submitted, item.autograded, item.original])


def read_finished(
    student: str, assignment: str, header: dict, blobs: list[bytes | None]
) -> Finished:
    """What a worker made of one student's work, and of nobody else's."""
    content = header["finished"]
    entry = record.submission_record(content["record"])
    if (entry.student, entry.assignment) != (student, assignment):
        raise ValueError("its result is about somebody else")
    return Finished(entry, content["scores"], content["comments"], *blobs)


def job_message(job: Job, wall_seconds: float | None) -> bytes:
    header = {"run": {"cells": job.cells, "answers": job.answers, "seconds": wall_seconds}}
    return packed(header, [job.request])


def read_job(header: dict, blobs: list[bytes | None]) -> tuple[Job, float | None]:
    content = header["run"]
    job = Job(tuple(content["cells"]), blobs[0] or b"", tuple(content["answers"]))
    return job, content["seconds"]


def read_exactly(stream: socket.socket, size: int) -> bytes:
    """Receive so many bytes. Raises EOFError if the connection ends, TimeoutError like a socket."""
    found = bytearray(min(size, 1 << 16))
    have = 0
    while have < size:
        if have == len(found):
            found.extend(bytes(min(size - have, len(found))))
        count = stream.recv_into(memoryview(found)[have:size])
        if not count:
            raise EOFError("the connection was closed")
        have += count
    return bytes(found[:size])


# ---- inside ----


class BoxBeyond:
    """A worker's access to the box, which belongs to the grader at the other end."""

    def __init__(self, stream: socket.socket, limits: Limits):
        self.stream, self.limits = stream, limits

    def run(self, job: Job, wall_seconds: float | None = None) -> Outcome:
        self.stream.sendall(job_message(job, wall_seconds))
        return pickle.loads(received(self.stream))


def received(stream: socket.socket) -> bytes:
    length, _ = HEAD.unpack(read_exactly(stream, HEAD.size))
    return read_exactly(stream, length)


class ZipOpen:
    """The class's zip that this worker has open; the grader sent its descriptor."""

    def __init__(self, descriptor: int):
        self.file = open(descriptor, "rb")  # noqa: SIM115 - closed when the worker ends
        self.archive: ZipHere | None = None

    def opened(self) -> ZipHere:
        if self.archive is None:
            self.archive = ZipHere(self.file)
        return self.archive

    def listed(self) -> bytes:
        infos = self.opened().infos
        if len(infos) > MOST_ENTRIES_OF_CLASS:
            raise ValueError(f"it has {len(infos)} entries")
        return packed({"listed": [[getattr(info, name) for name in LISTED] for info in infos]})

    def entry(self, number: int, most: int) -> bytes:
        archive = self.opened()
        return packed({}, [archive.read(archive.infos[number], most)])


def read_listed(header: dict) -> list[zipfile.ZipInfo]:
    """The table of contents that a worker sent."""
    found = []
    for filename, *numbers in header["listed"]:
        info = zipfile.ZipInfo(str(filename))
        for name, number in zip(LISTED[1:], numbers, strict=True):
            setattr(info, name, int(number))
        found.append(info)
    return found


def answer(stream: socket.socket, asked: tuple[str, Any], zipped: ZipOpen | None) -> bytes:
    """What is sent back for one request."""
    kind, given = asked
    if zipped is not None:
        return zipped.listed() if kind == "list zip" else zipped.entry(*given)
    if kind == "unzip":
        data, name, depth, allowance = given
        entries = unzip(data, name, depth, allowance)
        names = [(entry.name, entry.problem) for entry in entries]
        header = {"unzipped": names, "left": asdict(allowance)}
        return packed(header, [entry.data for entry in entries])
    if kind == "read":
        read_document(given)  # refuses what is too large for any notebook
        clean.clean_notebook(nbformat.reads(given.decode("utf-8-sig"), as_version=4))
        return packed({})
    if kind == "judge again":
        stored, setting, limits = given
        return finished_message(judge_again(stored, setting, BoxBeyond(stream, limits)))
    handed_in, setting, limits = given
    return finished_message(finish(handed_in, setting, BoxBeyond(stream, limits)))


def read_unzipped(
    header: dict, blobs: list[bytes | None]
) -> tuple[list[tuple[str, str, bytes | None]], Allowance]:
    found = zip(header["unzipped"], blobs, strict=True)
    left = Allowance(int(header["left"]["entries"]), int(header["left"]["size"]))
    return [(str(name), str(problem), data) for (name, problem), data in found], left


def work(stream: socket.socket) -> None:
    """A worker: one request after another until the connection is closed. It never returns."""
    setting: Setting | None = None
    zipped: ZipOpen | None = None  # such a worker does nothing else
    with contextlib.suppress(EOFError, OSError):
        while True:
            given: Any = None
            try:
                kind, given = pickle.loads(received(stream))
                if kind == "setting":
                    setting = given
                    continue
                if kind == "open zip":
                    zipped = ZipOpen(socket.recv_fds(stream, 1, 1)[1][0])
                    continue
                if kind in ("finish", "judge again"):
                    given = (given[0], setting, given[1])
                reply = answer(stream, (kind, given), zipped)
            except (EOFError, OSError):
                raise
            except BoxFailed as problem:
                reply = packed({"box failed": str(problem)[:2000]})
            except Exception as problem:  # whatever one submission does is reported, not lost
                reply = packed({"failed": f"{type(problem).__name__} {problem}".strip()[:2000]})
            stream.sendall(reply)
            del given, reply
    os._exit(0)


def limit_memory(room: int) -> None:
    """Limit the memory that a worker may take beyond what it starts with."""
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + room
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def become_worker(descriptor: int, memory: int) -> None:
    stream = socket.socket(fileno=descriptor)
    limit_memory(memory)
    handles = [os.pidfd_open(os.getpid())] if hasattr(os, "pidfd_open") else []
    socket.send_fds(stream, [b"ready"], handles)
    for handle in handles:
        os.close(handle)
    gc.enable()
    work(stream)


def serve(control: socket.socket, memory: int) -> None:
    """Fork a worker for each connection, until the grader is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the children
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the grader handles Ctrl-C
    while True:
        word, descriptors, _, _ = socket.recv_fds(control, 64, 1)
        if not word:
            return
        if word == b"setting":
            with open(descriptors[0], "rb") as file:
                file.seek(0)
                setting: Setting = pickle.load(file)
            register.use(setting.register)
            prepare_questions(setting.seeds)
            releases_as_read(setting.assignment, setting.release)
            gc.collect()
            gc.freeze()
            continue
        if os.fork() == 0:
            control.close()
            try:
                become_worker(descriptors[0], memory)
            finally:
                os._exit(1)
        os.close(descriptors[0])


def main() -> None:
    gc.disable()
    control = socket.socket(fileno=int(sys.argv[1]))
    gc.freeze()
    serve(control, memory=int(sys.argv[2]))
    os._exit(0)
