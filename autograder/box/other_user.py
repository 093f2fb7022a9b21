"""The second wall: another user in its own root folder, for a grader that runs as root.

In the containers of grading platforms the grader is root, and the kernel refuses new namespaces.
What root can still do there is `chroot` and change its user. So each submission runs

- in a root folder that holds only what answers need: the standard library, the packages of the
  student's layer, a few tools and the boxed course, but no /proc, no mount and no grader;
- as a user that no other process has. It can't signal or inspect any other process, and whatever
  it leaves behind is found by its user number and ended;
- with the limits of the first wall, and a system call filter that refuses every socket.

A root folder is used by one submission at a time and is swept before the next.
docs/design.md lists what this wall can't stop.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.metadata
import os
import platform
import pwd
import queue
import random
import re
import shutil
import socket
import stat
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from autograder.box import seccomp, walls

COURSE = "attention-course"
LAYERS = ("lab", "instructor", "dev")
INSTALLERS = {"pip", "wheel", "uv"}
TOOLS = (
    *("sh", "bash", "cat", "cp", "date", "echo", "env", "grep", "head", "ls", "mkdir", "mv"),
    *("nproc", "pwd", "rm", "sed", "sort", "tail", "touch", "uname", "wc"),
)
# the warm process already has these libraries in memory, and they are most of the bytes
LARGEST_FILE = 20 << 20
LEFT_OUT = {"__pycache__", "test", "tests", "idlelib", "tkinter", "include", "site-packages"}
LEFT_OUT |= {"dist-packages", "ensurepip", "turtledemo", "lib2to3"}
NEVER_IMPORTED = (".pyi", ".h", ".a", ".pxd", ".dist-info/RECORD")
USERS = range(20_000, 60_000, 2)  # the next number up is for ending the processes of this one
WRITABLE = ("tmp", "dev/shm")
MOST_FILES, DEEPEST, LONGEST_PATH = 4096, 32, 3000
DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9)}
CAP_CHROOT, CAP_SETGID, CAP_SETUID, CAP_KILL = 18, 6, 7, 5


@dataclass(frozen=True)
class Place:
    """Where one submission at a time runs: a root folder and a user number."""

    root: Path
    user: int
    claim: socket.socket  # while this is open, no other grader on this machine takes the number

    def overfull(self, most_bytes: int) -> bool:
        """Whether the submission has written more bytes or more files than it may."""
        files = used = 0
        waiting = [(str(self.root / name), 0) for name in WRITABLE]
        while waiting:
            folder, depth = waiting.pop()
            # the kernel opens no path longer than 4096 bytes, so what lies deeper can't be counted
            if depth > DEEPEST or len(os.fsencode(folder)) > LONGEST_PATH:
                return True
            with contextlib.suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):
                        found = entry.stat(follow_symlinks=False)
                        if found.st_uid != self.user:
                            continue  # shared by all submissions
                        files, used = files + 1, used + found.st_blocks * 512
                        if stat.S_ISDIR(found.st_mode):
                            waiting.append((entry.path, depth + 1))
                    if files > MOST_FILES or used > most_bytes:
                        return True
        return False

    def sweep(self) -> bool:
        """Remove what the submission wrote, after its processes ended. False if anything is left."""
        left = []
        for name in WRITABLE:
            with os.scandir(self.root / name) as entries:
                left += [e.path for e in entries if e.stat(follow_symlinks=False).st_uid != 0]
        for start in range(0, len(left), 500):
            # rm copes with any depth; Python's rmtree does so only from 3.13
            line = ["rm", "-rf", "--", *left[start : start + 500]]
            subprocess.run(line, capture_output=True, check=False)
        return not any(os.path.lexists(path) for path in left)


class Places:
    """One place for each submission that runs at the same time, created when it is first needed."""

    def __init__(self, folder: Path, most: int, boxed_course: Path):
        self.folder, self.most, self.boxed_course = folder, most, boxed_course
        self.made = 0
        self.retired: list[Place] = []
        self.free: queue.Queue[Place | None] = queue.Queue()
        for _ in range(most):
            self.free.put(None)
        self.give_back(self.take(), clean=True)  # the first one now, while nobody is waiting for it

    def take(self) -> Place:
        """A clean place; wait for one if all are in use."""
        place = self.free.get()
        try:
            return place or self._new()
        except BaseException:
            self.free.put(None)
            raise

    def give_back(self, place: Place, clean: bool) -> None:
        """`clean`: all processes of the submission are known to have ended.

        Otherwise, or if something can't be removed, the place is never used again.
        """
        if clean and place.sweep():
            self.free.put(place)
        else:
            self.retired.append(place)  # kept, and its number stays taken
            self.free.put(None)

    def _new(self) -> Place:
        self.made += 1
        root = self.folder / f"root-{self.made}"
        user, claim = claim_user()
        make_root(root, self.boxed_course)
        return Place(root, user, claim)


def claim_user() -> tuple[int, socket.socket]:
    """An unused user number, reserved by a name that the kernel frees when we end."""
    for user in random.SystemRandom().sample(USERS, len(USERS)):
        with contextlib.suppress(KeyError):
            pwd.getpwuid(user)
            continue
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0autograder-box-user-{user}")
        except OSError:
            claim.close()
            continue
        return user, claim
    raise walls.BoxUnavailable("Every user number from 20000 to 60000 is taken on this machine.")


# --- the root folder ---


def make_root(root: Path, boxed_course: Path) -> None:
    """A tree with copies of what answers need, or links to it; all of it belongs to root."""
    root.mkdir(mode=0o755)
    for name in WRITABLE:
        (root / name).mkdir(parents=True)
        (root / name).chmod(0o1777)
    (root / "proc").mkdir(mode=0o555)
    folders: set[str] = set()
    for path in whitelist(boxed_course):
        put(path, root, folders)
    for name, (major, minor) in DEVICES.items():
        # not every container may create devices, and answers hardly ever open one
        with contextlib.suppress(OSError):
            os.mknod(root / "dev" / name, 0o666 | stat.S_IFCHR, os.makedev(major, minor))
            (root / "dev" / name).chmod(0o666)


def put(path: str, root: Path, folders: set[str]) -> None:
    """Put a file at the same path as outside, readable by all and writable by nobody.

    folders: those that are known to exist; with some 8,000 files, every lookup counts.
    """
    target = f"{root}{path}"
    try:
        found = os.lstat(path)
        link = stat.S_ISLNK(found.st_mode)
        found = os.stat(path) if link else found
    except OSError:  # listed by a package, but missing
        return
    if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST_FILE:
        return
    if (parent := os.path.dirname(target)) not in folders:
        make_folders(Path(parent))
        folders.add(parent)
    if not link and found.st_mode & 0o4 and not found.st_mode & 0o6022:
        try:
            os.link(path, target)
            return
        except FileExistsError:
            return
        except OSError:  # on another file system
            pass
    shutil.copyfile(path, target)
    os.chmod(target, 0o755 if found.st_mode & 0o111 else 0o644)


def make_folders(folder: Path) -> None:
    """Create a folder and its missing parents, open to all whatever the umask is."""
    missing = [f for f in (folder, *folder.parents) if not f.is_dir()]
    for one in reversed(missing):
        one.mkdir()
        one.chmod(0o755)


def whitelist(boxed_course: Path) -> Iterator[str]:
    """Every file that a submission may see."""
    yield from below(boxed_course)
    programs = [found for tool in TOOLS if (found := shutil.which(tool, path="/usr/bin:/bin"))]
    standard = list(below(Path(sysconfig.get_path("stdlib")).resolve()))
    yield from standard
    yield from programs
    interpreter = str(walls.interpreter())
    extensions = [path for path in standard if path.endswith(".so")]
    yield from shared_libraries([interpreter, *programs, *extensions])
    yield from (interpreter, "/bin/sh", "/etc/ld.so.cache", "/etc/localtime")
    for package in student_packages():
        yield from package_files(package)


def below(folder: Path) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - LEFT_OUT)
        yield from (os.path.join(parent, name) for name in sorted(files))


def student_packages() -> list[importlib.metadata.Distribution]:
    """What the student's layer of the course needs, and what was installed besides the layers.

    A class may allow answers to use more packages: they are the ones that belong to no layer.
    """
    students, everybodys = required_by_course(("",)), required_by_course(("", *LAYERS))
    beside = {
        canonicalize_name(package.name): package for package in importlib.metadata.distributions()
    }
    beside = {n: p for n, p in beside.items() if n not in everybodys and n not in INSTALLERS}
    found = students | beside
    return [package for name, package in found.items() if name != COURSE]


def required_by_course(layers: Iterable[str]) -> dict[str, importlib.metadata.Distribution]:
    """The installed packages that these layers of the course need, directly or indirectly."""
    found: dict[str, importlib.metadata.Distribution] = {}
    waiting = [COURSE]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in found:
            continue
        try:
            found[name] = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        extras = layers if name == COURSE else ("",)
        for line in found[name].requires or ():
            wanted = Requirement(line)
            if wanted.marker is None or any(wanted.marker.evaluate({"extra": e}) for e in extras):
                waiting.append(wanted.name)
    return found


def package_files(package: importlib.metadata.Distribution) -> Iterator[str]:
    folder = os.path.realpath(str(package.locate_file("")))
    for file in package.files or ():
        parts = str(file).split("/")
        path = f"{folder}/{file}"
        if ".." in parts or path.endswith(NEVER_IMPORTED) or not LEFT_OUT.isdisjoint(parts):
            continue
        yield path


def shared_libraries(programs: Iterable[str]) -> set[str]:
    """The libraries that these programs load, at the paths where the loader looks for them."""
    said = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    return set(re.findall(r"(/\S+) \(0x", said))


# --- is it available? ---


def effective_capabilities() -> int:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("CapEff:"):
                return int(line.split()[1], 16)
    return 0


def why_unavailable() -> str | None:
    """None if this wall is available, otherwise the reason."""
    if platform.system() != "Linux" or os.getuid() != 0:
        return "The second kind of wall needs Linux and a grader that runs as root."
    if not seccomp.supported():
        return f"The second kind of wall doesn't know the system calls of {platform.machine()}."
    held = effective_capabilities()
    if not all(held >> number & 1 for number in (CAP_CHROOT, CAP_SETGID, CAP_SETUID, CAP_KILL)):
        return "The second kind of wall needs the rights to chroot, to change users and to kill."
    return why_refused()


def why_refused() -> str | None:
    """Try it: in a child, chroot into an empty folder, change the user, install the filter."""
    with tempfile.TemporaryDirectory(prefix="box-trial-") as empty:
        child = os.fork()
        if child == 0:
            try:
                os.chroot(empty)
                os.setgroups([])
                os.setresgid(USERS[0], USERS[0], USERS[0])
                os.setresuid(USERS[0], USERS[0], USERS[0])
                seccomp.install(ctypes.CDLL(None, use_errno=True), sockets=False)
            except BaseException:
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
    if status == 0:
        return None
    return "The second kind of wall was refused: this machine doesn't let root chroot or filter."
