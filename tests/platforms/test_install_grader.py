"""install_grader.sh step by step, with stand-ins for what it starts, in its own /opt."""

import shutil
import subprocess

import pytest

from autograder.paths import ROOT

SCRIPT = ROOT / "autograder" / "platforms" / "files" / "install_grader.sh"
PYTHONS = ("python3", "python3.13", "python3.12", "python3.11")
# Each stand-in writes down how it was called. The asked Python says with its exit status whether
# the course can use it, and makes environments with a pip and a uv in them.
RECORD = 'echo "$(basename "$0") $*" >> "$CALLS"\n'
PYTHON = (
    """#!/bin/bash
case "$*" in
    *ensurepip*) exit %(refused)d ;;
    *"-m venv"*) mkdir -p "${@: -1}/bin"; cp "$STANDINS/pip" "$STANDINS/uv" "${@: -1}/bin/" ;;
    *install.py*) mkdir -p "${@: -1}/bin"; cp "$STANDINS/done" "${@: -1}/bin/python" ;;
esac
"""
    + RECORD
)
UV = (
    "#!/bin/bash\n"
    + RECORD
    + """case "$1 $2" in
    "python install") mkdir -p "$UV_PYTHON_INSTALL_DIR"; cp "$STANDINS/new" "$UV_PYTHON_INSTALL_DIR/python3.12" ;;
    "python find") echo "$UV_PYTHON_INSTALL_DIR/python3.12" ;;
esac
"""
)
OTHER = "#!/bin/bash\n" + RECORD


def boxed(*line):
    """The line with an empty /opt and without the machine's caches and lists of packages."""
    mounts = [word for place in ("/opt", "/root", "/var/lib/apt") for word in ("--tmpfs", place)]
    course = ["--ro-bind", str(ROOT), str(ROOT)]  # which may be in one of them
    return ["bwrap", "--dev-bind", "/", "/", *mounts, *course, *line]


def can_be_boxed():
    return bool(shutil.which("bwrap")) and not subprocess.run(boxed("true"), check=False).returncode


pytestmark = pytest.mark.skipif(not can_be_boxed(), reason="no namespaces")


def calls(tmp_path, usable: str | None) -> list[str]:
    """How the programs were called where only the Python called `usable` can run the course."""
    first, standins = tmp_path / "bin", tmp_path / "standins"
    first.mkdir()
    standins.mkdir()
    scripts = {first / name: PYTHON % {"refused": name != usable} for name in PYTHONS}
    scripts |= {first / "apt-get": OTHER, standins / "pip": OTHER, standins / "uv": UV}
    scripts |= {standins / "new": PYTHON % {"refused": 0}, standins / "done": OTHER}
    for path, text in scripts.items():
        path.write_text(text)
        path.chmod(0o755)
    course = tmp_path / "course"
    course.mkdir()
    record = tmp_path / "calls"
    settings = {"PATH": f"{first}:/usr/bin:/bin", "STANDINS": standins, "CALLS": record}
    words = [word for name, value in settings.items() for word in ("--setenv", name, str(value))]
    line = ["bash", SCRIPT, course, tmp_path / "grader"]
    done = subprocess.run(
        boxed("--clearenv", *words, *line), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return record.read_text().splitlines()


def test_an_older_system_gets_its_python_from_uv(tmp_path):
    said = calls(tmp_path, None)
    assert said[0] == "apt-get update" and "python3-venv" in said[1]
    assert said[2] == "python3 -m venv /opt/uv"
    assert said[3].startswith("pip install") and said[3].endswith("constraints.txt uv")
    assert said[4:6] == ["uv python install 3.12", "uv python find 3.12"]
    assert said[6].startswith("python3.12 ") and "tools/install.py --layer instructor" in said[6]
    assert said[7].startswith("python -c") and len([line for line in said if "uv " in line]) == 2


@pytest.mark.parametrize("usable", PYTHONS)
def test_a_python_that_the_system_has_is_used_and_no_uv_is_brought(tmp_path, usable):
    said = calls(tmp_path, usable)
    assert not any(line.startswith(("uv", "pip")) or "-m venv" in line for line in said)
    assert said[2].startswith(f"{usable} ") and "tools/install.py --layer instructor" in said[2]
