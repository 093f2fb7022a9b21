"""Tries the course on a real JupyterHub in a clean root: two students, an instructor, the exchange.

    python tools/hub_trial.py --folder DIR

The root is Debian 12 with the grader (the script of the Dockerfile), jupyterhub, nbgitpuller and
configurable-http-proxy, and three ordinary users. The hub starts each user's own server. Students
fetch and hand in through nbgrader's server extension, as its buttons do; the instructor's commands
are those of docs/platforms.md. It needs root on a Debian machine with debootstrap and npm.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import fresh_machine as machine

sys.path.insert(0, str(machine.ROOT))
from autograder.platforms.gradescope import course_files

USERS = ("ann", "ben", "teacher")
STEPS = Path(__file__).with_name("hub_steps.py")
ANSWERS = machine.ROOT / "tests" / "grading" / "handing_in.py"
PACKAGES = ("jupyterhub", "nbgitpuller")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="for the root (default: a temporary one)")
    options = parser.parse_args()
    if why := machine.refusal():
        sys.exit(why)
    folder = (options.folder or Path(tempfile.mkdtemp(prefix="hub-"))).absolute()
    case = folder / "hub"
    if not (case / "srv" / "installed").exists():  # one that an earlier run made is used again
        prepare(case, machine.make_root(folder, "bookworm", machine.mirror()), folder)
        (case / "srv" / "installed").touch()
    for file in (STEPS, ANSWERS):
        shutil.copy(file, case / "srv" / file.name)
    # the hub's own processes end with the namespace that `enter` makes
    line = machine.enter(case, "root", ["/opt/grader/bin/python", f"/srv/{STEPS.name}"])
    done = subprocess.run(line, env=machine.settings("root"), check=False)
    if options.folder is None:
        shutil.rmtree(folder)
    sys.exit(done.returncode)


def prepare(case: Path, base: Path, folder: Path) -> None:
    """The grader, the hub, its proxy and three users in a copy of the clean root."""
    shutil.rmtree(case, ignore_errors=True)
    subprocess.run(["cp", "-a", "--reflink=auto", base, case], check=True)
    shutil.copy("/etc/resolv.conf", case / "etc" / "resolv.conf")
    shutil.copy(machine.CERTIFICATES, case / machine.CERTIFICATES.lstrip("/"))
    (case / "etc" / "hosts").write_text("127.0.0.1 localhost\n")
    for path in course_files(with_sources=True):
        target = case / "opt" / "course" / path.relative_to(machine.ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    install = "/opt/course/autograder/platforms/files/install_grader.sh"
    run(case, ["bash", install, "/opt/course", "/opt/grader"])
    run(case, ["/opt/grader/bin/pip", "install", "--quiet", *PACKAGES])
    run(case, ["apt-get", "update"])
    run(case, ["apt-get", "install", "--yes", "--no-install-recommends", "nodejs", "git"])
    proxy = folder / "proxy"
    if not (proxy / "node_modules").exists():
        line = ["npm", "install", "--silent", "--prefix", str(proxy), "configurable-http-proxy"]
        subprocess.run(line, check=True)
    shutil.copytree(proxy, case / "opt" / "proxy", symlinks=True)
    for user in USERS:
        run(case, ["useradd", "--create-home", user])


def run(case: Path, command: list[str]) -> None:
    done = machine.inside(case, "root", command)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{(done.stdout + done.stderr)[-2000:]}")


if __name__ == "__main__":
    main()
