"""What the one writer puts into nbgrader's gradebook, without any submission being run."""

import shutil
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from sqlalchemy.exc import OperationalError
from traitlets.config import Config

from autograder.grading.record import SubmissionRecord
from autograder.intake import Student
from autograder.nbgrader_parts.database import gradebook_url
from autograder.nbgrader_parts.gradebook import Entry, GradebookWriter
from autograder.whole_class.course_directory import prepare_course
from tests.grading.handing_in import ASSIGNMENT, EXERCISE, WRITTEN

CHECK = f"{EXERCISE}-check"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A course directory with the assignment in its gradebook and nobody graded."""
    folder = tmp_path_factory.mktemp("prepared")
    prepare_course(folder, ASSIGNMENT, gradebook_url(folder))
    return folder


@pytest.fixture
def url(prepared, tmp_path):
    copy = Path(shutil.copytree(prepared, tmp_path / "course"))
    return gradebook_url(copy)


def entry(student, points=8.0, status="graded", **more):
    record = SubmissionRecord("run", student, ASSIGNMENT, "file.ipynb", status=status)
    return Entry(record, {CHECK: points, WRITTEN: None}, {EXERCISE: f"{points:g} points"}, **more)


def write(url, *entries, roster=(), config=None):
    writer = GradebookWriter(url, ASSIGNMENT, config, roster)
    try:
        writer.write(list(entries))
    finally:
        writer.close()


def person(url, name):
    with Gradebook(url) as book:
        student = book.find_student(name)
        return student.first_name, student.last_name, student.email


def test_new_and_known_submissions_of_one_batch_get_their_scores_and_comments(url):
    write(url, entry("ann", 3.0))
    write(url, entry("bob", 5.0), entry("ann", 8.0), entry("cem", 0.0, status="flagged"))
    with Gradebook(url) as book:
        for student, points in (("ann", 8.0), ("bob", 5.0)):
            grade = book.find_grade(CHECK, ASSIGNMENT, ASSIGNMENT, student)
            assert (grade.auto_score, grade.needs_manual_grade) == (points, False)
            assert book.find_grade(WRITTEN, ASSIGNMENT, ASSIGNMENT, student).needs_manual_grade
            said = book.find_comment(EXERCISE, ASSIGNMENT, ASSIGNMENT, student).auto_comment
            assert said == f"{points:g} points"
        assert [s.student_id for s in book.assignment_submissions(ASSIGNMENT)] == ["ann", "bob"]
        assert {s.id for s in book.students} == {"ann", "bob", "cem"}


def test_a_batch_that_fails_leaves_nothing_and_can_be_written_again(url, monkeypatch):
    writer = GradebookWriter(url, ASSIGNMENT)
    commit = writer.session.commit

    def locked():
        raise OperationalError("commit", {}, Exception("database is locked"))

    monkeypatch.setattr(writer.session, "commit", locked)
    with pytest.raises(RuntimeError, match="database is locked"):
        writer.write([entry("ann")])
    with Gradebook(url) as book:
        assert not book.students
    monkeypatch.setattr(writer.session, "commit", commit)
    writer.write([entry("ann")])
    writer.close()
    with Gradebook(url) as book:
        assert book.find_submission(ASSIGNMENT, "ann").score == 8.0


def test_names_and_addresses_of_the_roster_reach_new_students(url):
    write(url, entry("ann"), roster=[Student("ann", "Ann", "Ames", "ann@example.org")])
    assert person(url, "ann") == ("Ann", "Ames", "ann@example.org")


def test_what_the_roster_leaves_blank_stays_as_somebody_entered_it(url):
    with Gradebook(url) as book:
        book.add_student("ann", first_name="Anna", email="by@hand.example")
        book.add_student("old", first_name="Olde")
    write(
        url, roster=[Student("ann", last_name="Ames"), Student("absent", "A", "B", "c@d.example")]
    )
    assert person(url, "ann") == ("Anna", "Ames", "by@hand.example")
    assert person(url, "old") == ("Olde", None, None)
    with Gradebook(url) as book:
        assert {s.id for s in book.students} == {"ann", "old"}  # nobody who handed in nothing


@pytest.mark.parametrize(
    ("setting", "penalty"),
    [("", None), ("autograder.instructor.late.LateDays", 1.6)],
)
def test_late_days_cost_what_the_courses_own_plugin_says(url, setting, penalty):
    due = datetime(2026, 3, 1, 12)
    with Gradebook(url) as book:
        book.update_or_create_assignment(ASSIGNMENT, duedate=due)
    config = Config()
    if setting:
        config.AssignLatePenalties.plugin_class = setting
        config.LateDays.share_a_day = 0.1
    write(url, entry("ann", 8.0, timestamp=due + timedelta(hours=30)), config=config)
    with Gradebook(url) as book:
        assert (
            book.find_submission(ASSIGNMENT, "ann").notebooks[0].late_submission_penalty == penalty
        )
