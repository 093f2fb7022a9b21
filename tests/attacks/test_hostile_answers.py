"""Each hostile answer scores 0, and nothing is left of it when the next one comes."""

import os
import re
import secrets
import time
from pathlib import Path

import pytest

from autograder.box import Box, Limits, other_user, walls
from autograder.box.choice import NAMESPACES, OTHER_USER
from tests.attacks.hostile import ENDED, HARMLESS, LEAVES_TRACES
from tests.attacks.one_exercise import grade_answer
from tests.grading.handing_in import RIGHT

pytestmark = pytest.mark.box
WHY_NOT = {NAMESPACES: walls.why_unavailable(), OTHER_USER: other_user.why_unavailable()}
# the second wall has no file system to fill: what is written is counted, and more is stopped
# (on a busy machine its time may be up first)
COUNTED_FROM_OUTSIDE = ("a disk filler", "a filler of /dev/shm", "a filler of inodes")
# at the start of a line: a warning may quote the attacker's source
FOUND = re.compile(r"^[\['\" ]*FOUND", re.M)
WORD = secrets.token_hex(8)
LIMITS = Limits(
    wall_seconds=3.0, cpu_seconds=2, memory_bytes=1800 << 20, output_bytes=16 << 20, processes=48
)


@pytest.fixture(scope="module")
def secret(tmp_path_factory):
    """A file, and a variable, that the grader can read and no submission may."""
    path = tmp_path_factory.mktemp("course") / "gradebook.db"
    path.write_text(WORD)
    path.chmod(0o644)
    path.parent.chmod(0o755)
    os.environ["GRADEBOOK_PASSWORD"] = WORD
    yield str(path)
    del os.environ["GRADEBOOK_PASSWORD"]


@pytest.fixture(
    scope="module", params=[NAMESPACES, pytest.param(OTHER_USER, marks=pytest.mark.thorough)]
)
def box(secret, request):
    if WHY_NOT[request.param]:
        pytest.skip(WHY_NOT[request.param])
    with Box(workers=2, limits=LIMITS, wall=request.param) as box:
        yield box


def processes_below(pid: int) -> set[int]:
    """All processes that descend from this one."""
    found, waiting = set(), [pid]
    while waiting:
        current = waiting.pop()
        for path in Path(f"/proc/{current}/task").glob("*/children"):
            try:
                children = {int(word) for word in path.read_text().split()}
            except OSError:
                continue
            found |= children
            waiting += children
    return found


def assert_nothing_is_left(box):
    """The zygote is alive and alone, and an honest answer still gets all its points."""
    honest = grade_answer(RIGHT, box, "honest")
    assert honest.points == honest.max_points, honest.answers
    deadline = time.monotonic() + 10  # the honest answer's own process may still be ending
    while len(below := processes_below(box._process.pid)) > 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(below) <= 2, below  # bubblewrap's own first process, and the zygote


@pytest.mark.parametrize("name", HARMLESS)
def test_it_gets_no_points_and_finds_nothing(name, box, secret):
    grades = grade_answer(HARMLESS[name].replace("{secret!r}", repr(secret)), box)
    assert grades.points == 0
    assert not FOUND.search(grades.printed), grades.printed
    assert WORD not in grades.printed
    assert_nothing_is_left(box)


@pytest.mark.parametrize("name", ENDED)
def test_it_is_stopped_and_gets_no_points(name, box):
    status, answer = ENDED[name]
    expected = (status,)
    if box.wall == OTHER_USER and name in COUNTED_FROM_OUTSIDE:
        expected = ("output", "timeout")
    grades = grade_answer(answer, box)
    assert grades.points == 0
    assert status is None or grades.answers[0].box in expected, grades.answers[0]
    # None of these ends by itself. How soon the box does it depends on how busy the machine is.
    assert grades.seconds < 20 * LIMITS.wall_seconds
    assert_nothing_is_left(box)


@pytest.mark.parametrize("name", LEAVES_TRACES)
def test_the_next_submission_sees_nothing_of_it(name, box):
    grade_answer(LEAVES_TRACES[name], box)
    look = """
import gc, os, socket
seen = [f for d in ("/tmp", "/dev/shm", os.getcwd()) for f in os.listdir(d) if f not in THERE]
word = "TRACE-OF-" + "ANOTHER"
seen += [o[:40] for o in gc.get_objects() if isinstance(o, str) and word in o]
try:
    socket.socket(socket.AF_UNIX).connect("\\0trace-of-another"); seen.append("socket")
except OSError:
    pass
print("SEEN", seen)
"""
    # an environment under /tmp is there too, as is the boxed course, and every submission sees it
    there = [Path(place).parts[2] for place in walls.bound_below("/tmp")] + [box._folder.name]
    grades = grade_answer(look.replace("THERE", repr(there)), box)
    assert "SEEN []" in grades.printed


def test_the_suite_has_at_least_forty_attacks():
    assert len(HARMLESS) + len(ENDED) >= 40


def test_two_submissions_side_by_side_do_not_meet(box):
    """Both at once: neither sees the other's processes, files or sockets."""
    from concurrent.futures import ThreadPoolExecutor

    meet = """
import os, socket, time
server = socket.socket(socket.AF_UNIX); server.bind("\\0meeting-{me}"); server.listen()
open("/tmp/{me}", "w").close(); open("/dev/shm/{me}", "w").close()
deadline = time.time() + 1.0
while time.time() < deadline:
    for place in ("/tmp", "/dev/shm"):
        if "{other}" in os.listdir(place): print("MET file")
    try: socket.socket(socket.AF_UNIX).connect("\\0meeting-{other}"); print("MET socket")
    except OSError: pass
    try: os.kill(2, 0); print("MET process")
    except OSError: pass
    time.sleep(0.05)
"""
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(grade_answer, meet.format(me="a", other="b"), box)
        two = pool.submit(grade_answer, meet.format(me="b", other="a"), box)
        assert "MET" not in one.result().printed + two.result().printed
