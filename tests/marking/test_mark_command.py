"""`autograder mark` starts Jupyter in the course directory, with the marking page as its first."""

import subprocess
from types import SimpleNamespace

from click.testing import CliRunner

from autograder.cli import main


def test_jupyter_is_started_in_the_course_with_the_page(course, monkeypatch):
    started = []
    monkeypatch.setattr(
        subprocess,
        "run",
        lambda command, cwd: started.append((command, cwd)) or SimpleNamespace(returncode=3),
    )
    result = CliRunner().invoke(
        main, ["mark", "--course", str(course.root), "--", "--port", "9000"]
    )
    assert result.exit_code == 3, result.output
    ((command, cwd),) = started
    assert cwd == course.root and f"--ServerApp.root_dir={course.root}" in command
    assert "--LabApp.default_url=/marking" in command and command[-2:] == ["--port", "9000"]


def test_a_folder_without_a_gradebook_is_a_sentence(tmp_path):
    result = CliRunner().invoke(main, ["mark", "--course", str(tmp_path)])
    assert result.exit_code == 1 and "has no gradebook" in result.output
