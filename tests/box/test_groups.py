"""Control groups: what they count, what is said without them; and who is to blame for a SIGKILL."""

import os
import signal

import pytest

from autograder.box import Box, Job, Limits, groups, supervision, why_unavailable
from course_utils.checks import wire

needs_box = pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces")
needs_group = pytest.mark.skipif(not groups.find().version, reason=groups.find().said)
pytestmark = pytest.mark.box
REQUEST = wire.pack_request({"any": [wire.Ask("x", "value", {"names": ["x"]})]})
# memory of the kernel: no process has it in its pages
QUEUED = """
import socket
kept = []
while True:
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
        end.setblocking(False)
        try:
            while True:
                end.send(bytes(1 << 16))
        except BlockingIOError:
            pass
    kept.append((ours, theirs))
"""


@pytest.fixture(scope="module")
def box():
    with Box(1, Limits(wall_seconds=60, memory_bytes=600 << 20)) as box:
        yield box


@needs_box
@needs_group
def test_socket_buffers_count_as_memory(box):
    outcome = box.run(Job((QUEUED,), REQUEST))
    assert (outcome.status, outcome.frame) == ("memory", None)


def kill_first(monkeypatch, times):
    """Let the machine kill as many submissions as soon as they run."""
    real, killed = supervision.Supervision._read_report, set()

    def read_report(self):
        real(self)
        if self.handle is not None and len(killed) < times and self not in killed:
            killed.add(self)
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)

    monkeypatch.setattr(supervision.Supervision, "_read_report", read_report)


@needs_box
@needs_group
def test_a_parent_whose_child_met_the_limit_does_not_wait_until_time_is_up(box, monkeypatch):
    monkeypatch.setattr(supervision.watch, "too_large", lambda *limits: False)
    fork = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        kept = bytearray(b"x") * (350 << 20)
        time.sleep(600)
time.sleep(600)
"""
    outcome = box.run(Job((fork,), REQUEST))
    assert outcome.status == "memory"


@needs_box
def test_what_the_machine_killed_is_tried_again(box, monkeypatch):
    kill_first(monkeypatch, 1)
    assert box.run(Job(("import time\ntime.sleep(2)",), REQUEST)).status == "ok"


@needs_box
def test_what_the_machine_killed_twice_is_the_boxes_fault_and_never_the_students(box, monkeypatch):
    kill_first(monkeypatch, 2)
    outcome = box.run(Job(("import time\ntime.sleep(5)",), REQUEST))
    assert outcome.status == "refused" and "The machine caused this" in outcome.message


@needs_box
def test_who_uses_up_the_time_for_computing_is_told_so():
    with Box(1, Limits(wall_seconds=60, cpu_seconds=2)) as box:
        endless = "import signal\nsignal.setitimer(signal.ITIMER_VIRTUAL, 0)\nwhile True: pass"
        outcome = box.run(Job((endless,), REQUEST))
    assert (outcome.status, outcome.message) == (
        "timeout",
        "It was stopped after 2 s of computing.",
    )


def test_without_a_group_it_is_said_why(tmp_path):
    (tmp_path / "cgroup").write_text("4:memory:/a\n3:pids:/\n0::/\n")
    (tmp_path / "tree" / "a").mkdir(parents=True)
    (tmp_path / "mounts").write_text(f"cgroup {tmp_path}/tree cgroup rw,memory 0 0\n")
    found = groups.find(tmp_path / "cgroup", tmp_path / "mounts")
    assert found.version == 0 and not found.places
    assert "version 1: it does not limit memory; version 2: not available" in found.said
    group = groups.Group(found, Limits())
    group.take(os.getpid())
    assert not group.ran_out_of_memory()
    group.remove()
    assert not list((tmp_path / "tree" / "a").iterdir())


def test_version_2_wants_both_controllers_for_its_children(tmp_path):
    (tmp_path / "cgroup").write_text("0::/user/me\n")
    here = tmp_path / "tree" / "user" / "me"
    here.mkdir(parents=True)
    (here / "cgroup.subtree_control").write_text("cpu")
    (tmp_path / "mounts").write_text(f"cgroup2 {tmp_path}/tree cgroup2 rw 0 0\n")
    found = groups.find(tmp_path / "cgroup", tmp_path / "mounts")
    assert (here / "cgroup.subtree_control").read_text() == "+memory +pids"
    assert "version 2: it does not limit memory" in found.said


@needs_box
@needs_group
def test_groups_of_killed_graders_are_removed_at_the_next_start():
    interface = groups.find()
    left = groups.Group(interface, Limits())
    assert left.folders and all(folder.is_dir() for folder in left.folders)
    with Box(1):
        assert not any(folder.exists() for folder in left.folders)
