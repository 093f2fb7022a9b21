"""A small class, made and graded once by `autograder demo`, and copied for each test."""

import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.cli import main

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.browser import browser, screenshots  # noqa: F401

STUDENTS = 14


@pytest.fixture(scope="session")
def demonstration(tmp_path_factory):
    """The course directory of a demonstration and what the command printed. Not to be changed."""
    folder = tmp_path_factory.mktemp("demonstration") / "course"
    result = CliRunner().invoke(
        main,
        ["demo", str(folder), "--students", str(STUDENTS), "--assignment", "03_attention"],
    )
    assert result.exit_code == 0, result.output
    return folder, result.output


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


def pytest_collection_modifyitems(items):
    """One worker for all tests that use the demonstration, so that it is made once."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("instructor"))
