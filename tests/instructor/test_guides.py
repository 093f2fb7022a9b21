"""The guides, followed word by word: every command is run, every file is written."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course_utils import register

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# These start a server and never end, so the test asks only whether they are there.
# What one does in formgrader is tested in test_formgrader.py.
SERVERS = {"make lab": "make --dry-run lab", "jupyter lab": "jupyter lab --version"}


def commands_in(guide: str) -> list[str]:
    text = (DOCS / guide).read_text(encoding="utf-8")
    lines = [
        line for kind, body in BLOCK.findall(text) if kind == "sh" for line in body.split("\n")
    ]
    return [SERVERS.get(line, line) for line in lines if line]


def follow(commands: list[str], folder: Path, pythonpath: Path = ROOT) -> str:
    """Run the commands one after the other in one shell; the first that fails ends it."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(pythonpath),
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "120",
    }
    script = "\n".join(["set -e", *(f"echo '+ {c.replace(chr(39), '')}'\n{c}" for c in commands)])
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def test_the_students_guide(tmp_path):
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    said = follow(commands_in("students.md"), tmp_path)
    assert "install.py" in said and "open_lab.py" in said


@pytest.mark.box
@pytest.mark.slow
def test_the_instructors_guide(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    commands = commands_in("instructors.md")
    assert len(commands) >= 15
    follow(commands, tmp_path)
    course = tmp_path / "demo_course"
    for path in (
        "reports/03_attention.html",
        "feedback/s004/03_attention/03_attention.html",
        "grades_canvas.csv",
        "grades_moodle.csv",
        "grades_csv.csv",
    ):
        assert (course / path).is_file(), path
    assert not list((tmp_path / "for_students").rglob("*oracle*"))
    assert (tmp_path / "for_students" / "notebooks" / "03_attention.ipynb").is_file()


@pytest.mark.box
@pytest.mark.slow
def test_the_authors_guide(tmp_path):
    """On a copy of the course: the register, the source, the check and the mutants of the guide."""
    for name in ("autograder", "course_utils", "notebooks"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    text = (DOCS / "authors.md").read_text(encoding="utf-8")
    written = []
    for how, path, _, body in re.findall(
        r"(Add to|As)\s+`([^`]+)`[^\n]*:\s*\n\n```(toml|python)\n(.*?)^```$",
        text,
        re.MULTILINE | re.DOTALL,
    ):
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        before = target.read_text(encoding="utf-8") + "\n" if how == "Add to" else ""
        target.write_text(before + body, encoding="utf-8")
        written.append(path)
    assert len(written) == 8, written
    said = follow(commands_in("authors.md"), tmp_path, pythonpath=tmp_path)
    assert "wrong passed 0, right failed 0" in " ".join(said.split())
    built = (tmp_path / "notebooks" / "00_start_here.ipynb").read_text(encoding="utf-8")
    assert "def sharpen" in built and "torch.softmax(scores / temperature" not in built


def test_the_routes_are_what_the_register_says():
    sys.path.insert(0, str(DOCS))
    try:
        import make_routes
    finally:
        sys.path.remove(str(DOCS))
    assert (DOCS / "routes.md").read_text(encoding="utf-8") == make_routes.text()
    for entry in register.notebooks():
        assert entry.title in make_routes.text()


def test_links_in_the_guides_lead_somewhere():
    for guide in [*DOCS.glob("*.md"), ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#]+)", guide.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (guide.parent / target).exists(), f"{guide.name}: {target}"


def test_the_licences_and_the_citation_agree_with_the_package():
    import tomllib

    import yaml

    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == package["version"]
    assert citation["title"] == register.title()
    assert citation["repository-code"] == register.repository()
    licence = (ROOT / "LICENSE").read_text()
    assert "BSD 3-Clause" in licence and "CC BY 4.0" in licence
