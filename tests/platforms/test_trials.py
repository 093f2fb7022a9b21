"""The trials in clean roots take hours of nobody's time: here only what they start from."""

import ast
import subprocess
import sys

import pytest

from autograder.paths import ROOT
from autograder.platforms.gradescope import LEFT_OUT, course_files
from tests.instructor.guides import DOCS

TRIALS = ("gradescope_trial.py", "hub_trial.py", "container_trial.py")


@pytest.mark.parametrize(
    "name", [TRIALS[0], *(pytest.param(name, marks=pytest.mark.thorough) for name in TRIALS[1:])]
)
def test_a_trial_tells_what_it_does(name):
    line = [sys.executable, ROOT / "tools" / name, "--help"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "clean root" in done.stdout and "--folder" in done.stdout
    assert f"tools/{name}" in (DOCS / "platforms.md").read_text(encoding="utf-8")


def test_the_container_is_made_as_the_dockerfile_says(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import container_trial

    copies, script, path, entrypoint = container_trial.read_dockerfile()
    assert "install_grader.sh /opt/course /opt/grader" in script and entrypoint == ["autograder"]
    assert path.split(":")[0] == container_trial.GRADER
    base, case = tmp_path / "base", tmp_path / "case"
    for folder in ("etc", "etc/ssl/certs"):
        (base / folder).mkdir(parents=True, exist_ok=True)
    certificates = tmp_path / "certificates.crt"
    certificates.touch()
    monkeypatch.setattr(container_trial.machine, "CERTIFICATES", str(certificates))
    (case / tmp_path.relative_to("/")).mkdir(parents=True)
    (base / tmp_path.relative_to("/")).mkdir(parents=True)
    container_trial.prepare(case, base, copies)
    copied = {
        p.relative_to(case / "opt/course") for p in (case / "opt/course").rglob("*") if p.is_file()
    }
    assert copied == {p.relative_to(ROOT) for p in course_files(with_sources=True)}
    ways = container_trial.ways([*entrypoint, "grade"])
    assert ways["with namespaces"] == ["autograder", "grade"] and len(ways) == 3


def test_the_hub_gets_the_sources_and_gradescope_does_not():
    def rooms(files):
        return {path.relative_to(ROOT).parent.as_posix() for path in files}

    assert "autograder/source" in rooms(course_files(with_sources=True))
    assert not rooms(course_files()) & LEFT_OUT


def test_the_hubs_steps_are_those_of_the_guide():
    """Each command that the instructor types in the trial is one that the guide has."""
    guide = (DOCS / "platforms.md").read_text(encoding="utf-8")
    tree = ast.parse((ROOT / "tools" / "hub_steps.py").read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    typed = [
        " ".join(word.value for word in call.args if isinstance(word, ast.Constant))
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "as_teacher"
    ]
    assert sorted(typed) == ["feedback", "grade", "hub feedback", "hub release"]
    assert all(f"autograder {words} 03_attention" in guide for words in typed)
