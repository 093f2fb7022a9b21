"""Does the Dockerfile's steps in a clean root, and grades there behind both walls.

    python tools/container_trial.py --folder DIR

The root is Debian 13 as debootstrap makes it, with the README's prerequisites. Files are copied and
the script is run as the Dockerfile says. Then its command grades a class three times: as
`docker run` starts it, with the options that allow namespaces, and as an ordinary user, who has no
wall and is refused. It needs root on a Debian machine with debootstrap. What it can't show: Docker
itself, and its own image.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import fresh_machine as machine
import gradescope_trial as gradescope
from gradescope_trial import as_in_docker, handing_in

from autograder.platforms.gradescope import course_files

GRADER = "/opt/grader/bin"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="for the root (default: a temporary one)")
    options = parser.parse_args()
    if why := machine.refusal():
        sys.exit(why)
    folder = (options.folder or Path(tempfile.mkdtemp(prefix="container-"))).absolute()
    case, base = folder / "container", machine.make_root(folder, "trixie", machine.mirror())
    copies, script, path, entrypoint = read_dockerfile()
    prepare(case, base, copies)
    started = time.monotonic()
    done = machine.inside(case, "root", ["sh", "-c", script])
    print(done.stdout[-300:], done.stderr[-600:], sep="\n")
    if done.returncode:
        sys.exit("The Dockerfile's script failed.")
    added = machine.size([case]) - machine.size([base])
    print(f"{script}: {time.monotonic() - started:.0f} s, {added:.0f} MB\n")
    hand_in(case)
    print("| started | status | isolation | points | said |\n" + "| --- " * 5 + "|")
    for name, line in ways([*entrypoint, "grade", handing_in.ASSIGNMENT, "in", "--json"]).items():
        print(try_one(case, name, ["env", "--chdir=/course", f"PATH={path}", *line]), flush=True)
    if options.folder is None:
        shutil.rmtree(folder)


def read_dockerfile() -> tuple[list[tuple[list[str], str]], str, str, list[str]]:
    """What it copies and where to, the script that it runs, its PATH and its command."""
    text = (machine.ROOT / "Dockerfile").read_text(encoding="utf-8")
    copies = [line.split() for line in re.findall(r"^COPY (.*)$", text, re.M)]
    (script,) = re.findall(r"^RUN (.*)$", text, re.M)
    (path,) = re.findall(r"^ENV PATH=(.*)$", text, re.M)
    (entrypoint,) = re.findall(r"^ENTRYPOINT (.*)$", text, re.M)
    return [(names, target) for *names, target in copies], script, path, json.loads(entrypoint)


def prepare(case: Path, base: Path, copies: list[tuple[list[str], str]]) -> None:
    shutil.rmtree(case, ignore_errors=True)
    subprocess.run(["cp", "-a", "--reflink=auto", base, case], check=True)
    shutil.copy("/etc/resolv.conf", case / "etc" / "resolv.conf")
    shutil.copy(machine.CERTIFICATES, case / machine.CERTIFICATES.lstrip("/"))
    known = course_files(with_sources=True)  # without what tests and builds left
    for names, target in copies:
        for name in names:
            for path in known:
                if path == machine.ROOT / name:
                    place = Path(target) / path.name
                elif path.is_relative_to(machine.ROOT / name):
                    place = Path(target) / path.relative_to(machine.ROOT / name)
                else:
                    continue
                place = case / str(place).lstrip("/")
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, place)


def hand_in(case: Path) -> None:
    (case / "course").mkdir()
    answers = {"ann": handing_in.RIGHT, "ben": handing_in.NO_TANH, "eve": gradescope.PEEKS}
    for student, answer in answers.items():
        handing_in.hand_in(case / "course" / "in", student, handing_in.submission(answer))


def ways(line: list[str]) -> dict[str, list[str]]:
    """The command, as the guide says that it can be started."""
    python = f"{GRADER}/python"
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    return {
        "docker run": as_in_docker(python, line),
        "with namespaces": line,
        "as another user": as_in_docker(python, [*nobody, *line]),
    }


def try_one(case: Path, name: str, line: list[str]) -> str:
    """One row of the table."""
    for place in (case / "course").iterdir():
        if place.name != "in":
            shutil.rmtree(place) if place.is_dir() else place.unlink()
    done = machine.inside(case, "root", line)
    said = " / ".join(done.stderr.strip().splitlines())[-400:]
    try:
        run = json.loads(done.stdout)
    except ValueError:
        return f"| {name} | {done.returncode} | | | {shlex.quote(said)} |"
    points = ", ".join(f"{one['student']} {one['points']:g}" for one in run["results"])
    errors = archive_errors(case, "eve")
    return f"| {name} | {done.returncode} | {run['isolation']} | {points} | {said} / {errors} |"


def archive_errors(case: Path, student: str) -> str:
    """What an answer that looks around found: the error that it raised."""
    folder = case / "course" / ".autograder" / "verdicts" / handing_in.ASSIGNMENT
    record = json.loads((folder / f"{student}.json").read_text(encoding="utf-8"))
    return " ".join(record["exercises"][0]["message"].split())[-200:]


if __name__ == "__main__":
    os.umask(0o022)
    main()
