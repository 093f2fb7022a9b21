"""A small class, made and graded once by `autograder demo`, and copied for each test."""

import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.cli import main

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.once import made_once

STUDENTS = 14


@pytest.fixture(scope="session")
def demonstration(tmp_path_factory):
    """The course directory of a demonstration and what the command printed. Not to be changed."""

    def make(folder):
        course = str(folder / "course")
        command = ["demo", course, "--students", str(STUDENTS), "--assignment", "03_attention"]
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 0, result.output
        (folder / "said.txt").write_text(result.output, encoding="utf-8")

    folder = made_once(tmp_path_factory, "demonstration", make)
    return folder / "course", (folder / "said.txt").read_text(encoding="utf-8")


@pytest.fixture
def course(demonstration, tmp_path):
    """A copy of the demonstration's course directory that a test may change."""
    return shutil.copytree(demonstration[0], tmp_path / "course")


@pytest.fixture
def autograder():
    """Runs a command and gives back its exit status and words."""

    def run(*arguments: object):
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    return run
