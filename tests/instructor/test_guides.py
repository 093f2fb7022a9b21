"""What the guides promise apart from commands: links, routes, licences, the student's two lines."""

import importlib
import re
import shutil
from dataclasses import replace

import pytest

from course_utils import register
from tests.instructor.guides import DOCS, ROOT, commands_in, follow

NAME = "03_attention"


def test_the_students_guide(tmp_path):
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    said = follow(commands_in("students.md"), tmp_path)
    assert "install.py" in said and "open_lab.py" in said


@pytest.mark.box
@pytest.mark.slow
def test_the_five_commands_of_the_readme(demonstration, tmp_path):
    shutil.make_archive(tmp_path / "submissions", "zip", demonstration[0] / "handed_in" / NAME)
    shutil.copy(demonstration[0] / "roster.csv", tmp_path)
    commands = commands_in("README.md", ROOT)
    assert len(commands) == 5
    steps = [command.split()[:2] for command in commands]
    assert steps.index(["autograder", "mark"]) < steps.index(["autograder", "feedback"])
    follow(commands, tmp_path)
    assert (tmp_path / "reports" / f"{NAME}.html").is_file()
    assert len(list((tmp_path / "feedback").glob(f"*/{NAME}/{NAME}.html"))) == 14
    assert (tmp_path / "grades_canvas.csv").is_file()


def test_every_message_that_the_instructors_guide_quotes_is_one_that_the_code_prints():
    guide = (DOCS / "instructors.md").read_text(encoding="utf-8")
    table = guide.partition("| the command prints | do |")[2]
    quoted = [words for row in table.splitlines() for words in re.findall(r"\*([^*]+)\*", row[:90])]
    code = " ".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "autograder").rglob("*.py")
    )
    code = re.sub(r'"\s+f?"', "", code)
    assert len(quoted) >= 6
    for message in quoted:
        assert all(part.strip() in code for part in message.split("…")), message


@pytest.fixture
def make_routes(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("make_routes")


def test_a_route_of_core_exercises_counts_no_minutes_of_the_others(make_routes):
    route = next(route for route in make_routes.ROUTES if route.core_only)
    everything = make_routes.minutes_of_route(replace(route, core_only=False))
    others = [e.minutes for n in route.notebooks for e in register.exercises(n) if not e.core]
    assert 0 <= make_routes.minutes_of_route(route) - (everything - sum(others)) < 5 < sum(others)


def test_the_routes_are_what_the_register_says(make_routes):
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
