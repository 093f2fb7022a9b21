"""Tries the README's commands on unprepared machines: clean Debian 12 and 13.

    python tools/fresh_machine.py                                    # everything; takes hours
    python tools/fresh_machine.py --root trixie --user root --step lab

Each case starts from a clean root with the README's prerequisites and nothing else, clones the
repository, runs the command, and becomes one row of a table. It needs root on a Debian machine
with debootstrap. Nothing else may download meanwhile: megabytes are counted on the network card.
"""

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tools import environment  # noqa: E402

SUITES = {"bookworm": "Debian 12", "trixie": "Debian 13"}
USERS = ("root", "student")
STEPS = ("lab", "test")
# The README's prerequisites: a package that is missing here must be missing there.
PREREQUISITES = ("python3", "python3-venv", "make", "git", "ca-certificates")
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
PORT = 8899
LONGEST_START = 3600  # seconds until JupyterLab has to answer

# A new mount namespace with the clean root as its root. A plain chroot would not do: in a chroot,
# ordinary users can't create the namespaces that the grader's box consists of.
ENTER = """
set -e
root=$1; user=$2; shift 2
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
for folder in $BOUND; do
    mkdir -p "$root$folder"
    mount --bind "$folder" "$root$folder"
done
cd "$root"
pivot_root . mnt
umount -l /mnt
cd /
setpriv --reuid="$user" --regid="$user" --init-groups "$@"
exit $?  # this shell stays, so that killing it ends the namespace
"""


@dataclass(frozen=True)
class Row:
    root: str
    user: str
    step: str
    seconds: float
    again: float | None  # seconds that the second start took
    downloaded: float  # megabytes
    environment: float
    caches: float
    torch: str
    failure: str


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", choices=SUITES, action="append", help="default: both")
    parser.add_argument("--user", choices=USERS, action="append", help="default: both")
    parser.add_argument("--step", choices=STEPS, action="append", help="default: both")
    parser.add_argument("--folder", type=Path, help="for the roots (default: a temporary one)")
    parser.add_argument("--keep", action="store_true", help="leave what each case made")
    parser.add_argument("--mirror", help="of Debian (default: the one this machine uses)")
    options = parser.parse_args()
    why = refusal()
    if why:
        sys.exit(why)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="fresh-machine-"))
    rows = []
    for suite in options.root or SUITES:
        base = make_root(folder.absolute(), suite, options.mirror or mirror())
        for user in options.user or USERS:
            case = folder.absolute() / f"{suite}-{user}"
            prepare(case, base, user)
            for step in options.step or STEPS:
                print(f"{SUITES[suite]}, {user}: make {step} ...", flush=True)
                rows.append(try_step(case, suite, user, step))
                print(f"  {rows[-1].failure or 'fine'} after {rows[-1].seconds:.0f} s", flush=True)
            if not options.keep:
                shutil.rmtree(case)
    print(table(rows))
    if options.folder is None:
        shutil.rmtree(folder)
    sys.exit(1 if any(row.failure for row in rows) else 0)


def refusal() -> str:
    if sys.platform != "linux" or os.geteuid() != 0:
        return "Clean roots can only be made by root on Linux: sudo python3 tools/fresh_machine.py"
    for command, package in (("debootstrap", "debootstrap"), ("unshare", "util-linux")):
        if shutil.which(command) is None:
            return f"{command} is missing: apt-get install {package}"
    return ""


def mirror() -> str:
    """The Debian mirror of this machine, from apt's own settings."""
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)"]
        + ["Created-By: Packages", "Label: Debian"],
        capture_output=True,
        text=True,
    ).stdout.split()
    if not listed:
        sys.exit("apt has no Debian mirror: run `apt-get update`, or name one with --mirror.")
    return listed[0]


def make_root(folder: Path, suite: str, address: str) -> Path:
    """A clean root; one that an earlier run finished is reused."""
    base = folder / f"base-{suite}"
    finished = folder / f"base-{suite}.finished"
    if finished.exists():
        return base
    print(f"Making a clean root of {SUITES[suite]} ...", flush=True)
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir(parents=True)
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(PREREQUISITES)}"]
    done = subprocess.run([*command, suite, base, address], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"debootstrap failed:\n{(done.stdout + done.stderr)[-2000:]}")
    finished.touch()
    return base


def prepare(case: Path, base: Path, user: str) -> None:
    """Copy the clean root, and put a bundle of the repository into the user's home."""
    shutil.rmtree(case, ignore_errors=True)
    subprocess.run(["cp", "-a", "--reflink=auto", base, case], check=True)
    shutil.copy("/etc/resolv.conf", case / "etc" / "resolv.conf")
    # debootstrap leaves this file to Debian's installer.
    (case / "etc" / "hosts").write_text("127.0.0.1 localhost\n::1 localhost ip6-localhost\n")
    # This machine's network may need certificates that Debian does not have.
    shutil.copy(CERTIFICATES, case / CERTIFICATES.lstrip("/"))
    if user != "root":
        inside(case, "root", ["useradd", "--create-home", user]).check_returncode()
    bundle = case / "srv" / "course.bundle"
    subprocess.run(["git", "bundle", "create", "--quiet", bundle, "HEAD"], cwd=ROOT, check=True)
    bundle.chmod(0o644)
    clone = ["git", "clone", "--quiet", "/srv/course.bundle", f"{home(user)}/course"]
    inside(case, user, clone).check_returncode()


def home(user: str) -> str:
    return "/root" if user == "root" else f"/home/{user}"


def inside(case: Path, user: str, command: list[str]) -> subprocess.CompletedProcess:
    return subprocess.run(
        enter(case, user, command), env=settings(user), capture_output=True, text=True
    )


def enter(case: Path, user: str, command: list[str]) -> list[str]:
    namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation"]
    return [*namespaces, "private", "sh", "-c", ENTER, "sh", str(case), user, *command]


def settings(user: str) -> dict[str, str]:
    """What a new login has, and how this machine's pip reaches its packages."""
    pip = pip_settings()
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": home(user),
        "USER": user,
        "LANG": "C.UTF-8",
        "BOUND": " ".join(local_folders(pip.values())),
        **{name: os.environ[name] for name in ("SSL_CERT_FILE",) if name in os.environ},
        **pip,
    }


def pip_settings() -> dict[str, str]:
    """As variables for a command in the root. Variables win in pip, which lists them first."""
    listed = reversed(environment.pip_settings(sys.executable))
    return {"PIP_" + name.upper().replace("-", "_"): value for name, value in listed}


def local_folders(values) -> list[str]:
    """Folders that pip's settings name; of an index, the one above it, which has the files."""
    places = [place for value in values for place in value.split() if "/" in place]
    folders = [Path(place.removeprefix("file://")) for place in places]
    folders = [f.parent if f.name == "simple" else f for f in folders]
    return sorted({str(f) for f in folders if f.is_dir()})


def try_step(case: Path, suite: str, user: str, step: str) -> Row:
    course = case / home(user).lstrip("/") / "course"
    before, started = received(), time.monotonic()
    again = None
    if step == "lab":
        failure = start_lab(case, user)
        seconds = time.monotonic() - started
        if not failure:
            started = time.monotonic()
            failure = start_lab(case, user)
            again = time.monotonic() - started
        failure = failure or run_first_notebook(case, user)
    else:
        failure = run_tests(case, user)
        seconds = time.monotonic() - started
    fetched = (received() - before) / 1e6 + local_wheels(course / ".venv")
    caches = [course / ".venv", case / home(user).lstrip("/") / ".cache"]
    return Row(
        *(suite, user, step, seconds, again, fetched),
        *(size(caches[:1]), size(caches), torch_of(course), failure),
    )


def start_lab(case: Path, user: str) -> str:
    """Start `make lab`, wait for its response and stop it; returns what went wrong."""
    log = case / "srv" / "lab.log"
    command = ["make", "-C", f"{home(user)}/course", "lab", f"PORT={PORT}"]
    with log.open("w") as output:
        lab = subprocess.Popen(
            enter(case, user, command),
            env=settings(user),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            deadline = time.monotonic() + LONGEST_START
            while time.monotonic() < deadline:
                if lab.poll() is not None:
                    return f"make lab ended: {last_lines(log)}"
                try:
                    urllib.request.urlopen(f"http://localhost:{PORT}/api", timeout=5).close()
                    return ""
                except OSError:
                    time.sleep(0.2)
            return f"no answer in {LONGEST_START} s: {last_lines(log)}"
        finally:
            lab.kill()  # the new process namespace ends with it, JupyterLab included
            lab.wait()
            wait_until_free()
            with (case / "srv" / "said.log").open("a") as said:
                said.write(log.read_text(errors="replace"))


def wait_until_free() -> None:
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", PORT)):
                return
        time.sleep(0.2)


def run_first_notebook(case: Path, user: str) -> str:
    """The student's packages are enough to run a notebook."""
    course = f"{home(user)}/course"
    command = [f"{course}/.venv/bin/jupyter", "nbconvert", "--to", "notebook", "--execute"]
    command += ["--output", "/tmp/ran.ipynb", f"{course}/notebooks/00_start_here.ipynb"]
    done = inside(case, user, command)
    return "" if done.returncode == 0 else f"00_start_here failed: {done.stderr[-300:]}"


def run_tests(case: Path, user: str) -> str:
    log = case / "srv" / "test.log"
    command = ["make", "-C", f"{home(user)}/course", "test"]
    with log.open("w") as output:
        done = subprocess.run(
            enter(case, user, command),
            env=settings(user),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    shutil.copy(log, case.with_suffix(".test.log"))
    failed = [line for line in log.read_text(errors="replace").splitlines() if "FAILED" in line]
    return "" if done.returncode == 0 else "; ".join(failed) or last_lines(log)


def last_lines(log: Path) -> str:
    return " | ".join(log.read_text(errors="replace").strip().splitlines()[-3:])


def received() -> int:
    """Bytes that came over the network cards."""
    lines = Path("/proc/net/dev").read_text().splitlines()[2:]
    cards = [line.split(":") for line in lines]
    return sum(int(counts.split()[0]) for name, counts in cards if name.strip() != "lo")


def local_wheels(venv: Path) -> float:
    """Megabytes of packages taken from this machine's disk; elsewhere they would be downloads."""
    installed = {path.name for path in venv.glob("lib/python3*/site-packages/*.dist-info")}
    folders = pip_settings().get("PIP_FIND_LINKS", "").split()
    wheels = [wheel for folder in folders for wheel in Path(folder).glob("*.whl")]
    taken = [w for w in wheels if "-".join(w.name.split("-")[:2]) + ".dist-info" in installed]
    return sum(wheel.stat().st_size for wheel in taken) / 1e6


def size(folders: list[Path]) -> float:
    """Megabytes on disk; a file with two names counts once."""
    present = [str(f) for f in folders if f.exists()]
    listed = subprocess.run(
        ["du", "-c", "--block-size=1", "-s", *present], capture_output=True, text=True
    )
    return int(listed.stdout.splitlines()[-1].split()[0]) / 1e6 if present else 0


def torch_of(course: Path) -> str:
    found = list(course.glob(".venv/lib/python3*/site-packages/torch-*.dist-info"))
    return found[0].name.removeprefix("torch-").removesuffix(".dist-info") if found else "none"


def table(rows: list[Row]) -> str:
    lines = [
        "| root | user | command | seconds | second start | MB downloaded | MB of .venv "
        "| MB with caches | PyTorch | what failed |",
        "| --- " * 10 + "|",
    ]
    for row in rows:
        again = "" if row.again is None else f"{row.again:.0f}"
        lines.append(
            f"| {SUITES[row.root]} | {row.user} | make {row.step} | {row.seconds:.0f} | {again} "
            f"| {row.downloaded:.0f} | {row.environment:.0f} | {row.caches:.0f} | {row.torch} "
            f"| {row.failure or 'nothing'} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
