"""The guide's commands run, and the Dockerfile installs what the tried script installs."""

import json
import re
import shutil

import pytest

from autograder.box import why_unavailable
from autograder.platforms.gradescope import CONTENTS, SHOW
from tests.grading.handing_in import ASSIGNMENT, RIGHT, submission
from tests.instructor.guides import DOCS, ROOT, commands_in, follow

GUIDE = (DOCS / "platforms.md").read_text(encoding="utf-8")
EXCHANGE = "/srv/nbgrader/exchange"


@pytest.mark.box
@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.skipif(bool(why_unavailable()), reason="no box")
def test_the_commands_of_the_guide_run_in_their_order(tmp_path):
    exchange, course = tmp_path / "exchange", tmp_path / "course"
    course.mkdir()
    exchange.mkdir()
    exchange.chmod(0o777)
    settings = re.search(r"```python\n(.*?)```", GUIDE, re.DOTALL)[1]
    (course / "nbgrader_config.py").write_text(settings.replace(EXCHANGE, str(exchange)))
    commands = [c.replace(EXCHANGE, str(exchange)) for c in commands_in("platforms.md")]
    assert [c.split()[1] for c in commands].count("hub") == 3
    place = next(i for i, c in enumerate(commands) if c.startswith("autograder grade "))
    follow(commands[:place], course)
    assert (course / "upload" / "03_attention.zip").is_file()
    inbound = exchange / "attention101" / "inbound"
    for student in ("ann", "ben"):  # what nbgrader's button writes
        folder = inbound / f"{student}+{ASSIGNMENT}+2026-03-01 10:00:00.000000 UTC+abc"
        folder.mkdir()
        (folder / f"{ASSIGNMENT}.ipynb").write_text(json.dumps(submission(RIGHT)))
        (folder / "timestamp.txt").write_text("2026-03-01 10:00:00.000000 UTC")
        (folder / "submission_secret.txt").write_text(student * 32)
    said = follow(commands[place:], course)
    assert "2 graded" in said and "2 pages in the exchange" in said
    assert "https://hub.example/hub/user-redirect/git-pull?" in said
    assert len(list((exchange / "attention101" / "feedback").glob("*.html"))) == 2


def test_the_guide_tells_all_that_students_can_be_shown():
    assert all(f"`--show {name}`" in GUIDE for name in SHOW)


def test_the_dockerfile_copies_what_the_grader_needs_and_runs_the_tried_script():
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = {name for line in re.findall(r"^COPY (.*) \S+$", text, re.M) for name in line.split()}
    assert copied == set(CONTENTS)
    (script,) = re.findall(r"^RUN bash /opt/course/(\S+) /opt/course /opt/grader$", text, re.M)
    assert (ROOT / script).is_file()
    setup = (ROOT / script).with_name("setup.sh").read_text(encoding="utf-8")
    assert script in setup


@pytest.mark.thorough
def test_the_copied_files_are_enough_for_the_commands(tmp_path):
    """As in the image: the folders of the Dockerfile alone, without tests and docs."""
    for name in CONTENTS:
        target = tmp_path / "course" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, target)
    said = follow(
        [
            "python -c 'import autograder; print(autograder.__file__)'",
            "python -c 'from autograder.cli import main; main()' --help",
            "python -c 'from autograder.cli import main; main()' build --check",
        ],
        tmp_path,
        tmp_path / "course",
    )
    assert str(tmp_path / "course") in said and "gradescope" in said
    assert "Up to date: " in said
