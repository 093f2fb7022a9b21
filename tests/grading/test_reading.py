"""Submissions are read and judged by workers that can be killed, and the class goes on."""

import io
import os
import signal
import socket
import subprocess
import sys
import zipfile
from datetime import UTC, datetime

import pytest

from autograder.box import Box, Limits, Outcome, walls, why_unavailable
from autograder.grading import reader_process
from autograder.grading.reading import NotRead, Readers
from autograder.grading.record import ExerciseRecord, FindingRecord, Flag, SubmissionRecord
from autograder.grading.student import Finished, Setting, Stored
from autograder.grading.verdict import BoxFailed
from autograder.intake import find_files
from autograder.intake.files import Allowance, unzip
from tests.grading.handing_in import ASSIGNMENT, EXERCISE, RIGHT, hand_in, submission

pytestmark = [pytest.mark.box, pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces")]
SETTING = Setting("run", ASSIGNMENT, {EXERCISE: (3, 4)}, {})


class OddBox:
    """In the place of the box: does something to the worker that waits for it."""

    limits = Limits()

    def __init__(self, readers, word, times):
        self.readers, self.word, self.times = readers, word, times

    def run(self, job, wall_seconds=None):
        if self.times > 0:
            self.times -= 1
            (worker,) = self.readers._busy
            signal.pidfd_send_signal(worker.handle, self.word)
        return Outcome("crashed", None, "It left Python.", "")


@pytest.fixture(scope="module")
def readers():
    with Readers() as found:
        yield found


@pytest.fixture
def handed_in(tmp_path):
    hand_in(tmp_path / "in", "ann", submission(RIGHT))
    (found,) = find_files(tmp_path / "in", [ASSIGNMENT], tmp_path)
    return found


def test_what_a_worker_finished_comes_back_whole():
    finding = FindingRecord("shapes", False, 0.0, 1.0, "No.", "Look again.")
    exercise = ExerciseRecord(EXERCISE, 0.5, 8, False, (finding,), "no-tanh", seeds=(1, 2))
    record = SubmissionRecord(
        *("run", "李", ASSIGNMENT, "a/b.ipynb", datetime(2026, 3, 1, tzinfo=UTC), "ff", "ee"),
        status="graded",
        flags=(Flag("box", "Odd.", EXERCISE),),
        exercises=(exercise,),
    )
    item = Finished(record, {"a": 1.5, "b": None}, {"a": "é", "b": None}, b"\x00", None, b"")
    message = reader_process.finished_message(item)
    text, rest = reader_process.HEAD.unpack_from(message)
    start = reader_process.HEAD.size
    read = reader_process.unpacked(message[start : start + text], message[start + text :])
    assert len(message) == start + text + rest
    assert reader_process.read_finished("李", ASSIGNMENT, *read) == item
    with pytest.raises(ValueError, match="somebody else"):
        reader_process.read_finished("eve", ASSIGNMENT, *read)


def test_a_worker_that_does_not_end_is_killed_and_the_next_submission_is_graded(handed_in):
    with Readers(seconds=2.0) as readers, Box(1) as box:
        readers.prepare(SETTING)
        stuck = readers.finish(handed_in, SETTING, OddBox(readers, signal.SIGSTOP, 1))
        assert stuck.record.status == "flagged" and not readers._busy
        assert "took longer than 2 s" in stuck.record.flags[0].text
        assert stuck.original == handed_in.read().arrivals[0].entry.data
        readers.seconds = 60.0
        assert readers.finish(handed_in, SETTING, box).record.points == 8


def test_a_stored_submission_is_judged_again_by_a_worker_that_can_be_killed(handed_in):
    record = SubmissionRecord("before", "ann", ASSIGNMENT, "a.ipynb")
    (arrival,) = handed_in.read().arrivals
    stored = Stored(record, arrival.entry.data, arrival.entry.data, (EXERCISE,))
    with Readers(seconds=2.0) as readers, Box(1) as box:
        with pytest.raises(NotRead, match="took longer than 2 s"):
            readers.judge_again(stored, SETTING, OddBox(readers, signal.SIGSTOP, 1))
        readers.seconds = 60.0
        again = readers.judge_again(stored, SETTING, box)
    assert again.record.points == 8 and again.record.run == SETTING.run
    assert again.scores == {f"{EXERCISE}-check": 8.0} and list(again.comments) == [EXERCISE]


class FailingBox:
    limits = Limits()

    def run(self, job, wall_seconds=None):
        return Outcome("refused", None, "There is no room.", "")


def test_a_box_that_fails_gives_no_grade_when_judging_again(handed_in, readers):
    (arrival,) = handed_in.read().arrivals
    stored = Stored(SubmissionRecord("b", "ann", ASSIGNMENT, "a"), arrival.entry.data)
    with pytest.raises(BoxFailed, match="There is no room"):
        readers.judge_again(stored, SETTING, FailingBox())
    assert not readers._busy


def test_a_worker_that_the_machine_killed_is_replaced_once(handed_in, readers):
    again = readers.finish(handed_in, SETTING, OddBox(readers, signal.SIGKILL, 1))
    assert again.record.graded and again.record.exercises[0].box == "crashed"
    lost = readers.finish(handed_in, SETTING, OddBox(readers, signal.SIGKILL, 2))
    assert not lost.record.graded and "was lost" in lost.record.flags[0].text


def test_what_takes_too_much_memory_is_a_flag(tmp_path):
    large = tmp_path / "in" / "eve" / f"{ASSIGNMENT}.ipynb"
    large.parent.mkdir(parents=True)
    large.write_bytes(b'{"cells": [' + b"[]," * (10 << 20) + b"0]}")
    (handed_in,) = find_files(tmp_path / "in", [ASSIGNMENT], tmp_path)
    with Readers(memory=64 << 20) as readers:
        found = readers.finish(handed_in, SETTING, OddBox(readers, 0, 0))
    assert not found.record.graded
    assert "Memory" in found.record.flags[0].text


def zipped(contents):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return stream.getvalue()


def test_a_zip_is_unpacked_by_a_worker_as_it_would_be_here(readers):
    data = zipped({"a.ipynb": b"one", "notes.pdf": b"two", "in.zip": zipped({"b.ipynb": b"3"})})
    here, there = Allowance(), Allowance()
    assert readers.unzip(data, "eve/hw.zip", 1, there) == unzip(data, "eve/hw.zip", 1, here)
    assert there == here != Allowance()


def test_a_zip_that_is_not_read_in_time_is_the_students_flag(readers, monkeypatch):
    def stop(worker):
        worker.wait()
        signal.pidfd_send_signal(worker.handle, signal.SIGSTOP)

    monkeypatch.setattr(readers, "_wait_for", stop)
    monkeypatch.setattr(readers, "seconds", 0.2)
    (entry,) = readers.unzip(zipped({"a.ipynb": b"one"}), "eve/hw.zip", 1, Allowance())
    assert entry.name == "eve/hw.zip" and "took longer" in entry.problem


def test_a_reply_that_is_no_reply_is_a_flag(handed_in, monkeypatch, readers):
    monkeypatch.setattr(reader_process, "unpacked", lambda text, rest: ({"finished": {}}, []))
    found = readers.finish(handed_in, SETTING, OddBox(readers, 0, 0))
    assert not found.record.graded and found.record.flags


def test_the_reading_room_has_no_network_and_no_files_of_others(tmp_path):
    (tmp_path / "gradebook.db").write_text("grades")
    server = socket.create_server(("127.0.0.1", 0))
    look = (
        "import os, socket\n"
        f"print(os.path.exists({str(tmp_path)!r}), os.path.exists('/etc/passwd'), end=' ')\n"
        "try: open('/usr/lib/x', 'w'); print('wrote', end=' ')\n"
        "except OSError: print('read-only', end=' ')\n"
        f"print(socket.socket().connect_ex(('127.0.0.1', {server.getsockname()[1]})) != 0)\n"
    )
    line = [*walls.reading_room([]), str(walls.interpreter()), "-S", "-E", "-c", look]
    said = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    server.close()
    assert said == "False False read-only True\n"


ENDLESS = """
import signal, sys
from pathlib import Path
from autograder.box import Limits
from autograder.whole_class.grade_class import Options, grade_class
limits = Limits(wall_seconds=900, together_seconds=900)
tell = lambda progress: print(progress.student, flush=True)
# Started in the background, as a test may be, Python would ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
options = Options({assignment!r}, (Path({folder!r}),), Path({course!r}), jobs=2, limits=limits)
try:
    grade_class(options, tell)
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_ctrl_c_ends_everything_and_keeps_what_is_graded(tmp_path):
    folder, course = tmp_path / "in", tmp_path / "course"
    hand_in(folder, "ann", submission(RIGHT))
    hand_in(folder, "eve", submission("import time\ntime.sleep(10_000)"))
    script = ENDLESS.format(assignment=ASSIGNMENT, folder=str(folder), course=str(course))
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ann\n"
    process.send_signal(signal.SIGINT)
    try:
        assert process.wait(timeout=120) == 130  # eve would have gone on for a quarter of an hour
    finally:
        process.kill()
        process.stdout.close()
    assert [p.name for p in (course / ".autograder" / "verdicts" / ASSIGNMENT).iterdir()] == [
        "ann.json"
    ]
    assert not os.path.exists(course / "submitted" / "eve")
