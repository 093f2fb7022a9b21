"""The second wall: another user in a root folder of its own, where there are no namespaces."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.box import Box, BoxUnavailable, Job, Limits, choice, choose_wall, other_user, walls
from autograder.box.choice import NAMESPACES, OTHER_USER
from autograder.box.other_user import Place, Places, claim_user
from course_utils.checks import wire

WHY_NOT = other_user.why_unavailable()
needs_root = pytest.mark.skipif(bool(WHY_NOT), reason=str(WHY_NOT))
pytestmark = pytest.mark.box
REQUEST = wire.pack_request({"any": [wire.Ask("x", "value", {"names": ["x"]})]})
# what Docker gives to root in a container, and the calls that its filter refuses without more
DOCKER_RIGHTS = (
    "chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service net_raw "
    "sys_chroot mknod audit_write setfcap"
)
NEEDS_ADMINISTRATOR = ("unshare", "setns", "mount", "umount2", "pivot_root", "ptrace", "bpf")


@pytest.fixture(scope="module")
def box():
    with Box(2, Limits(wall_seconds=20, cpu_seconds=8), wall=OTHER_USER) as box:
        yield box


def in_a_container(script: str, timeout: float = 120) -> subprocess.CompletedProcess:
    """Run a Python script as root with what a plain container lets root do."""
    preamble = (
        "import ctypes\nfrom autograder.box import seccomp\n"
        "whole = seccomp.REFUSED\n"
        f"seccomp.REFUSED = {{name: whole[name] for name in {NEEDS_ADMINISTRATOR}}}\n"
        "seccomp.install(ctypes.CDLL(None, use_errno=True))\n"
        "seccomp.REFUSED = whole\n"
    )
    rights = ",".join(["-all", *(f"+{name}" for name in DOCKER_RIGHTS.split())])
    line = ["setpriv", f"--bounding-set={rights}", sys.executable, "-c", preamble + script]
    return subprocess.run(line, capture_output=True, text=True, timeout=timeout, check=False)


@needs_root
def test_in_a_plain_container_it_is_chosen_and_works():
    done = in_a_container(
        "from autograder.box import Box, Job, walls\n"
        "from course_utils.checks import wire\n"
        "print(walls.why_unavailable() is None)\n"
        f"with Box(1) as box:\n"
        f"    outcome = box.run(Job(('import os, torch; x = torch.ones(2)',), {REQUEST!r}))\n"
        "    print(box.wall, outcome.status, len(wire.unpack_response(outcome.frame)['any']))\n"
    )
    assert done.stdout.splitlines() == ["False", "other user ok 1"], done.stderr


@needs_root
def test_without_the_right_to_chroot_it_is_not_chosen():
    done = in_a_container(
        "from autograder.box import other_user, why_unavailable\n"
        "other_user.effective_capabilities = lambda: 0\n"
        "print(why_unavailable())\n"
    )
    assert "--unsafe" in done.stdout, done.stderr
    done = in_a_container(
        "from autograder.box import other_user\n"
        "seccomp.REFUSED = {'chroot': whole['chroot']}\n"
        "seccomp.install(ctypes.CDLL(None, use_errno=True))\n"
        "print(other_user.why_unavailable())\n"
    )
    assert "doesn't let root chroot" in done.stdout, done.stderr


def test_the_first_wall_is_preferred_and_each_absence_leads_to_the_next(monkeypatch):
    monkeypatch.setattr(walls, "why_unavailable", lambda: None)
    assert choose_wall() == NAMESPACES
    monkeypatch.setattr(walls, "why_unavailable", lambda: "No namespaces here.")
    monkeypatch.setattr(other_user, "why_unavailable", lambda: None)
    assert choose_wall() == OTHER_USER and choice.why_unavailable() is None
    monkeypatch.setattr(other_user, "why_unavailable", lambda: "Not root.")
    with pytest.raises(BoxUnavailable, match=r"No namespaces here\..*--unsafe"):
        choose_wall()
    assert choose_wall(unsafe=True) == choice.NO_WALL


def test_it_is_not_for_ordinary_users(monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    assert "root" in other_user.why_unavailable()


@needs_root
def test_a_submission_sees_its_own_root_and_a_user_that_nobody_is(box):
    look = """
import os, sys
print(os.getuid(), os.getgid(), os.getgroups(), os.getresuid(), os.listdir("/proc"))
print([p for p in ("/root/.bashrc", "/etc/passwd", "/autograder", "/home") if os.path.exists(p)])
"""
    shown = box.run(Job((look,), REQUEST)).printed.splitlines()
    user = int(shown[0].split()[0])
    assert user in other_user.USERS
    assert shown == [f"{user} {user} [] ({user}, {user}, {user}) []", "[]"]


@needs_root
def test_what_honest_answers_use_works(box):
    cells = (
        "%matplotlib inline",
        "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()",
        "import tempfile, sqlite3, lzma, multiprocessing, torch.distributions",
        "!echo hello > note.txt",
        "open('/tmp/own.txt', 'w').write('x'); import os; os.listdir('/dev/shm')",
        "with tempfile.NamedTemporaryFile() as file: x = [len(open('note.txt').read())]",
        "import course_utils.language_model, course_utils.transformer.masks",
    )
    outcome = box.run(Job(cells, REQUEST))
    assert outcome.status == "ok" and "Error" not in outcome.printed, outcome
    assert wire.unpack_response(outcome.frame)["any"][0].arrays["x"].ravel().tolist() == [6]


@needs_root
def test_no_socket_gets_an_address_and_pairs_still_work(box):
    sockets = """
import socket
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX):
    try: socket.socket(family); print("GOT", family)
    except PermissionError: pass
try: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); print("GOT datagrams")
except PermissionError: pass
one, other = socket.socketpair()
try: one.bind("\\0name"); print("GOT a name")
except PermissionError: pass
one.send(b"well"); x = list(other.recv(4))
"""
    outcome = box.run(Job((sockets,), REQUEST))
    assert "GOT" not in outcome.printed, outcome.printed
    assert wire.unpack_response(outcome.frame)["any"][0].arrays["x"].ravel().tolist() == [*b"well"]


@needs_root
def test_it_cannot_touch_the_grader_or_the_one_beside_it(box):
    """Neither may signal the other's processes, though both see the same numbers."""
    from concurrent.futures import ThreadPoolExecutor

    cell = f"""
import os, time
try: os.kill({os.getpid()}, 9); print("REACHED the grader")
except PermissionError: pass
deadline = time.time() + 1.5
while time.time() < deadline:
    for pid in range(os.getpid() - 40, os.getpid() + 40):
        if pid > 1 and pid != os.getpid():
            try: os.kill(pid, 9); print("REACHED", pid)
            except (PermissionError, ProcessLookupError): pass
x = 1
"""
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda _: box.run(Job((cell,), REQUEST)), range(2)))
    assert [o.status for o in outcomes] == ["ok", "ok"]
    assert not any("REACHED" in o.printed for o in outcomes)


def processes_of(user: int) -> list[str]:
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:
            continue
        if f"\nUid:\t{user}\t" in text and "\nState:\tZ" not in text:
            found.append(status.parent.name)
    return found


@needs_root
def test_a_killed_grader_leaves_no_process_of_a_submission(tmp_path):
    script = tmp_path / "grader.py"
    script.write_text(
        "import threading, time\nfrom autograder.box import Box, Job\n"
        "box = Box(1, wall='other user'); box.start(); box.wait()\n"
        "place = box._places.take(); box._places.give_back(place, True)\n"
        "sleep = 'import os, time\\nif os.fork() == 0: os.setsid()\\ntime.sleep(300)'\n"
        f"threading.Thread(target=box.run, args=(Job((sleep,), {REQUEST!r}),)).start()\n"
        "print(place.user, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as grader:
        user = int(grader.stdout.readline())
        deadline = time.monotonic() + 30
        while len(processes_of(user)) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(processes_of(user)) == 2
        grader.send_signal(signal.SIGKILL)
    while processes_of(user) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not processes_of(user)
    with Box(1):  # the next one removes the dead one's folder
        pass


@pytest.fixture
def place(tmp_path):
    root = tmp_path / "root"
    for name in other_user.WRITABLE:
        (root / name).mkdir(parents=True)
    with socket.socket() as claim:
        yield Place(root, 23456, claim)


def go_down(folder: Path, depth: int, user: int) -> None:
    """Folders in folders, deeper than a path can be long."""
    home = os.open(".", os.O_RDONLY)
    try:
        folder.mkdir()
        os.chown(folder, user, user)
        os.chdir(folder)
        for _ in range(depth):
            os.mkdir("d" * 200)
            os.chown("d" * 200, user, user)
            os.chdir("d" * 200)
    finally:
        os.fchdir(home)
        os.close(home)


@needs_root
def test_what_a_submission_wrote_is_counted_and_swept_at_any_depth(place):
    (place.root / "tmp" / "for-all").mkdir()
    assert not place.overfull(1 << 20)
    file = place.root / "dev" / "shm" / "file"
    file.write_bytes(bytes(2 << 20))
    os.chown(file, place.user, place.user)
    assert place.overfull(1 << 20) and not place.overfull(64 << 20)
    go_down(place.root / "tmp" / "deep", 40, place.user)
    assert place.overfull(64 << 20)
    assert place.sweep()
    assert sorted(path.name for path in place.root.rglob("*")) == ["dev", "for-all", "shm", "tmp"]


@needs_root
def test_a_place_that_may_still_be_in_use_is_never_given_again(tmp_path, monkeypatch):
    monkeypatch.setattr(
        other_user, "make_root", lambda root, course: (root / "tmp").mkdir(parents=True)
    )
    monkeypatch.setattr(Place, "sweep", lambda self: True)
    places = Places(tmp_path, 1, tmp_path)
    first = places.take()
    places.give_back(first, clean=True)
    assert places.take() is first
    places.give_back(first, clean=False)
    second = places.take()
    assert second.root != first.root and second.user != first.user


@needs_root
def test_two_graders_never_take_the_same_user(monkeypatch):
    monkeypatch.setattr(other_user, "USERS", range(20_000, 20_004, 2))
    claims = [claim_user() for _ in range(2)]
    try:
        assert sorted(user for user, _ in claims) == [20_000, 20_002]
        with pytest.raises(BoxUnavailable, match="taken"):
            claim_user()
    finally:
        for _, claim in claims:
            claim.close()
    claim_user()[1].close()


@needs_root
def test_the_root_has_nothing_that_judges_and_nothing_to_write_on(tmp_path):
    course = tmp_path / "packages"
    course.mkdir()
    (course / "inside.py").write_text("x = 1")
    other_user.make_root(tmp_path / "root", course)
    found = list((tmp_path / "root").rglob("*"))
    names = {path.name for path in found}
    assert {"inside.py", "torch", "numpy", "sh", "IPython"} <= names
    assert not {"autograder", "course_utils", "nbgrader"} & names
    writable = {p for p in found if not p.is_symlink() and p.stat().st_mode & 0o022}
    outside = {tmp_path / "root" / name for name in other_user.WRITABLE}
    assert {p for p in writable if "dev" not in p.parts} == {tmp_path / "root" / "tmp"}
    assert outside <= writable
    assert not [p for p in found if p.stat().st_mode & 0o6000]


def test_a_package_that_was_installed_beside_the_layers_is_there_for_answers(monkeypatch):
    class Installed:
        def __init__(self, name, requires=()):
            self.name, self.requires = name, list(requires)

    course = ["torch", 'nbgrader; extra == "instructor"', 'attention-course[lab]; extra == "dev"']
    there = {
        "attention-course": Installed("attention-course", course),
        "torch": Installed("torch", ["sympy"]),
        "sympy": Installed("sympy"),
        "nbgrader": Installed("nbgrader", ["Jinja2"]),
        "jinja2": Installed("Jinja2"),
        "einops": Installed("einops"),
        "pip": Installed("pip"),
    }
    metadata = other_user.importlib.metadata
    monkeypatch.setattr(metadata, "distributions", lambda: there.values())
    monkeypatch.setattr(metadata, "distribution", lambda name: there[name])
    assert {p.name for p in other_user.student_packages()} == {"torch", "sympy", "einops"}


def test_the_layers_are_those_of_the_course():
    extras = other_user.importlib.metadata.metadata(other_user.COURSE).get_all("Provides-Extra")
    assert sorted(extras) == sorted(other_user.LAYERS)
