"""nbgrader's exchange around our grading: release, fetch, hand in, grade, give back."""

import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import (
    ExchangeFetchAssignment,
    ExchangeFetchFeedback,
    ExchangeSubmit,
)
from traitlets.config import Config

from autograder.box import why_unavailable
from autograder.cli import main
from autograder.course_files import CourseError
from autograder.grading import archive
from autograder.platforms.hub import exchange_settings, pull_link
from tests.grading.handing_in import ASSIGNMENT, EXERCISE, NO_TANH, RIGHT, submission

CLASS = "attention101"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


class Student:
    """One student's home on the hub, with what nbgrader's own commands run."""

    def __init__(self, name: str, home: Path, exchange: Path):
        self.home = home / name
        self.home.mkdir(parents=True)
        self.config = Config()
        self.config.CourseDirectory.course_id = CLASS
        self.config.CourseDirectory.student_id = name
        self.config.CourseDirectory.assignment_id = ASSIGNMENT
        self.config.Exchange.root = str(exchange)
        self.config.Exchange.assignment_dir = str(self.home)
        self.config.Exchange.cache = str(self.home / "cache")

    def do(self, step: type) -> None:
        course = CourseDirectory(config=self.config)
        step(coursedir=course, authenticator=Authenticator(), config=self.config).start()

    @property
    def notebook(self) -> Path:
        return self.home / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"

    def hand_in(self, answer: str) -> None:
        self.notebook.write_text(json.dumps(submission(answer)))
        self.do(ExchangeSubmit)

    def feedback(self) -> list[Path]:
        self.do(ExchangeFetchFeedback)
        return sorted((self.home / ASSIGNMENT / "feedback").rglob("*.html"))


@pytest.fixture
def course(tmp_path):
    root, exchange = tmp_path / "course", tmp_path / "exchange"
    root.mkdir()
    exchange.mkdir(mode=0o777)
    exchange.chmod(0o777)
    (root / "nbgrader_config.py").write_text(
        "from autograder.nbgrader_config import configure\n"
        "c = get_config()\nconfigure(c)\n"
        f"c.CourseDirectory.course_id = {CLASS!r}\n"
        f"c.Exchange.root = {str(exchange)!r}\n"
    )
    return root, exchange


@pytest.mark.box
@pytest.mark.skipif(bool(why_unavailable()), reason="no box")
def test_the_whole_way_through_the_exchange(course, tmp_path):
    root, exchange = course
    release = ["hub", "release", ASSIGNMENT, "--course", str(root)]
    assert "in the exchange" in run(*release)
    refused = CliRunner().invoke(main, release)
    assert refused.exit_code == 1 and "--again" in refused.output
    run(*release, "--again")
    ann, ben = (Student(name, tmp_path / "homes", exchange) for name in ("ann", "ben"))
    for student in (ann, ben):
        student.do(ExchangeFetchAssignment)
        assert "NotImplementedError" in student.notebook.read_text()
    ann.hand_in(NO_TANH)
    earlier = next((exchange / CLASS / "inbound").glob("ann+*"))
    older = earlier.name.replace(earlier.name.split("+")[2], "2020-01-01 10:00:00.000000 UTC")
    earlier.rename(earlier.with_name(older))  # an hour may pass between two submissions
    (earlier.with_name(older) / "timestamp.txt").write_text("2020-01-01 10:00:00.000000 UTC")
    ann.hand_in(RIGHT)
    ben.hand_in(NO_TANH)

    run("grade", ASSIGNMENT, exchange / CLASS / "inbound", "--course", root)
    points = {r.student: r.points for r in archive.records(root, ASSIGNMENT)}
    assert points["ann"] == 8 and 0 < points["ben"] < 8, "the last of two submissions counts"
    assert set(points) == {"ann", "ben"}

    run("feedback", ASSIGNMENT, "--course", root)
    assert "2 pages" in run("hub", "feedback", ASSIGNMENT, "--course", root)
    (page,) = ann.feedback()
    assert EXERCISE in page.read_text() or "DotProdAttention" in page.read_text()
    (other,) = ben.feedback()
    assert page.read_text() != other.read_text()
    # a page's name in the exchange can't be guessed, and its folder can't be listed by others
    folder = exchange / CLASS / "feedback"
    assert folder.stat().st_mode & 0o004 == 0
    assert all(len(path.stem) == 32 for path in folder.iterdir())


@pytest.mark.box
@pytest.mark.skipif(bool(why_unavailable()), reason="no box")
def test_who_did_not_use_the_exchange_is_named(course, tmp_path):
    root, exchange = course
    handed_in = tmp_path / "handed_in" / "eve" / f"{ASSIGNMENT}.ipynb"
    handed_in.parent.mkdir(parents=True)
    handed_in.write_text(json.dumps(submission(RIGHT)))
    run("grade", ASSIGNMENT, handed_in.parents[1], "--course", root)
    run("feedback", ASSIGNMENT, "--course", root)
    said = run("hub", "feedback", ASSIGNMENT, "--course", root)
    assert "0 pages" in said and "eve" in said
    assert not list(exchange.rglob("*.html"))


def test_a_course_without_an_exchange_says_which_settings_it_needs(tmp_path):
    with pytest.raises(CourseError, match=r"course_id and c\.Exchange\.root"):
        exchange_settings(tmp_path, ASSIGNMENT)
    result = CliRunner().invoke(main, ["hub", "feedback", ASSIGNMENT, "--course", str(tmp_path)])
    assert result.exit_code == 1 and "Exchange.root" in result.output


def test_an_exchange_that_cannot_be_written_is_one_sentence(course):
    root, exchange = course
    exchange.rmdir()
    exchange.write_text("nobody can write into a file, and nbgrader can't mend its permissions")
    result = CliRunner().invoke(main, ["hub", "release", ASSIGNMENT, "--course", str(root)])
    assert result.exit_code == 1 and "could not be released" in result.output


def test_a_link_opens_the_notebook_from_the_students_copy():
    repository = "https://git.example/teacher/attention course.git"
    link = pull_link("https://hub.example/", ASSIGNMENT, repository, "term 2")
    parts = urlsplit(link)
    assert link.startswith("https://hub.example/hub/user-redirect/git-pull?")
    assert parse_qs(parts.query) == {
        "repo": [repository],
        "branch": ["term 2"],
        "urlpath": [f"lab/tree/attention%20course/notebooks/{ASSIGNMENT}.ipynb"],
    }
    assert ASSIGNMENT in run("hub", "link", ASSIGNMENT, "--hub", "https://hub.example")


@pytest.mark.parametrize(("hub", "name"), [("hub.example", ASSIGNMENT), ("https://h", "99_no")])
def test_a_link_to_nowhere_is_one_sentence(hub, name):
    result = CliRunner().invoke(main, ["hub", "link", name, "--hub", hub])
    assert result.exit_code == 1 and result.output.count("\n") == 1
