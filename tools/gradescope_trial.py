"""Tries the Gradescope zip in a clean root: from setup.sh to results.json, as root.

    python tools/gradescope_trial.py --folder DIR

The root is Debian 12 as debootstrap makes it, with a tree like the platform's. Each submission is
graded with the rights that Docker gives root, and without new namespaces. It needs root on a
Debian machine with debootstrap, and the course's packages within reach of pip. It can't show that
the platform's own image, network and limits are like this.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import fresh_machine as machine

sys.path.insert(0, str(machine.ROOT))
from autograder.platforms.gradescope import Settings, write_zip
from tests.grading import handing_in

RIGHTS = (
    "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,"
    "+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap"
)
# Docker's filter refuses these calls to a container without extra rights. The largest process
# afterwards shows how much memory is needed.
AS_IN_DOCKER = """
import ctypes, resource, subprocess, sys
from autograder.box import seccomp
needed = ("unshare", "setns", "mount", "umount2", "pivot_root", "ptrace", "bpf")
seccomp.REFUSED = {name: seccomp.REFUSED[name] for name in needed}
seccomp.install(ctypes.CDLL(None, use_errno=True))
done = subprocess.run(sys.argv[1:])
print("largest process:", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10, "MB", file=sys.stderr)
sys.exit(done.returncode)
"""
PEEKS = """
import os
places = ("/autograder/source", "/autograder/results", "/home", "/etc/passwd", "/proc/1")
raise RuntimeError(f"user {os.getuid()} sees {[p for p in places if os.path.exists(p)]}")
"""


def submissions() -> dict[str, bytes]:
    """One file per case, under a name that a student might give it."""
    notebook = handing_in.submission(handing_in.RIGHT)
    without = handing_in.submission(handing_in.RIGHT)
    without.cells = [c for c in without.cells if not c.metadata.get("nbgrader", {}).get("locked")]
    cases = {
        "right/Copy of 03_attention (1).ipynb": notebook,
        "no tanh/03_attention.ipynb": handing_in.submission(handing_in.NO_TANH),
        "locked cells deleted/attention.ipynb": without,
        "looks around/03_attention.ipynb": handing_in.submission(PEEKS),
        "endless loop/03_attention.ipynb": handing_in.submission("while True: pass"),
    }
    return {name: json.dumps(content).encode() for name, content in cases.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="for the root (default: a temporary one)")
    options = parser.parse_args()
    if why := machine.refusal():
        sys.exit(why)
    folder = (options.folder or Path(tempfile.mkdtemp(prefix="gradescope-"))).absolute()
    case = folder / "gradescope"
    prepare(case, machine.make_root(folder, "bookworm", machine.mirror()))
    started = time.monotonic()
    done = machine.inside(case, "root", ["bash", "/autograder/source/setup.sh"])
    print(done.stdout[-600:], done.stderr[-600:], sep="\n")
    if done.returncode:
        sys.exit("setup.sh failed")
    print(f"setup.sh: {time.monotonic() - started:.0f} s")
    print(f"installed: {machine.size([case / 'autograder' / 'grader']):.0f} MB\n")
    rows = [try_one(case, name, content) for name, content in submissions().items()]
    print("| submission | seconds | points | isolation | first test | log |")
    print("\n".join(["| --- " * 6 + "|", *rows]))
    if options.folder is None:
        shutil.rmtree(folder)


def prepare(case: Path, base: Path) -> None:
    """A copy of the clean root with the platform's tree and the unpacked zip in it."""
    shutil.rmtree(case, ignore_errors=True)
    subprocess.run(["cp", "-a", "--reflink=auto", base, case], check=True)
    shutil.copy("/etc/resolv.conf", case / "etc" / "resolv.conf")
    shutil.copy(machine.CERTIFICATES, case / machine.CERTIFICATES.lstrip("/"))
    top = case / "autograder"
    for name in ("source", "submission", "results"):
        (top / name).mkdir(parents=True)
    write_zip(case / "srv" / "upload.zip", Settings(handing_in.ASSIGNMENT))
    with zipfile.ZipFile(case / "srv" / "upload.zip") as archive:
        archive.extractall(top / "source")
    shutil.copy(top / "source" / "run_autograder", top)
    (top / "run_autograder").chmod(0o755)


def as_in_docker(python: str, command: list[str]) -> list[str]:
    """The command with the rights that Docker gives root, and without new namespaces."""
    return ["setpriv", f"--bounding-set={RIGHTS}", python, "-c", AS_IN_DOCKER, *command]


def try_one(case: Path, name: str, content: bytes) -> str:
    """One row of the table; the platform starts each submission in a new container."""
    top = case / "autograder"
    for place in ("submission", "results"):
        shutil.rmtree(top / place)
        (top / place).mkdir()
    label, file = name.split("/")
    (top / "submission" / file).write_bytes(content)
    started = time.monotonic()
    line = as_in_docker("/autograder/grader/bin/python", ["/autograder/run_autograder"])
    done = machine.inside(case, "root", line)
    seconds = time.monotonic() - started
    log = " / ".join((done.stdout + done.stderr).strip().splitlines())
    results = top / "results" / "results.json"
    if not results.exists():
        return f"| {label} | {seconds:.0f} | no results | | | {log} |"
    found = json.loads(results.read_text())
    points = sum(test.get("score", 0) for test in found["tests"])
    said = found["tests"][0]["output"].replace("\n", " / ") or "nothing to add"
    wall = found["extra_data"]["isolation"]
    return f"| {label} | {seconds:.0f} | {points:g} | {wall} | {said} | {log} |"


if __name__ == "__main__":
    os.umask(0o022)
    main()
