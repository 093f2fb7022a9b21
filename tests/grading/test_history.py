"""Older files, lost times and ids that changed: nothing is replaced or left behind in silence."""

import shlex
import shutil
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook

from autograder.cli import main
from autograder.grading import archive
from autograder.grading.record import SubmissionRecord
from autograder.intake import HandedIn
from autograder.intake.files import Entry as FileEntry
from autograder.intake.submission import Sender
from autograder.intake.whose import Arrival
from autograder.nbgrader_parts import backups
from autograder.nbgrader_parts.database import gradebook_url
from autograder.nbgrader_parts.gradebook import Entry, GradebookWriter
from autograder.whole_class.course_directory import prepare_course
from autograder.whole_class.history import why_older, with_history
from autograder.whole_class.people import Move, apply, ghosts
from tests.grading.handing_in import ASSIGNMENT, EXERCISE, WRITTEN

CHECK = f"{EXERCISE}-check"
NOON = datetime(2027, 3, 5, 12, tzinfo=UTC)


def record(student="ann", sha="one", when=None, sender=None, name="03_attention.ipynb"):
    return SubmissionRecord(
        "run", student, ASSIGNMENT, name, when, sha, sha, "graded", sender=sender or Sender()
    )


def test_the_time_decides_which_file_is_older():
    newer = record(when=NOON)
    assert why_older(record(sha="two", when=NOON - timedelta(hours=1)), newer)
    assert not why_older(record(sha="two", when=NOON + timedelta(hours=1)), newer)
    assert not why_older(record(sha="two"), newer)  # nobody can tell
    assert not why_older(record(sha="one", when=NOON - timedelta(hours=1)), newer)  # the same file
    assert not why_older(newer, None)


def test_a_file_that_was_replaced_is_older_without_any_time():
    first, second = record(sha="one"), record(sha="two")
    kept = with_history(second, first)
    assert kept.earlier == ("one",)
    assert "was graded before" in why_older(first, kept)
    third = with_history(record(sha="three"), kept)
    assert third.earlier == ("one", "two") and why_older(second, third)
    # told to take it all the same, the newer one may come back
    told = with_history(first, third, told_older=True)
    assert not why_older(third, told)


def test_canvas_numbers_files_as_they_come():
    def handed_in(number, sha):
        return record(sha=sha, sender=Sender("canvas", "41", number, f"ann_41_{number}_03.ipynb"))

    assert why_older(handed_in("9001", "a"), handed_in("10002", "b"))
    assert not why_older(handed_in("10002", "b"), handed_in("9001", "a"))


def test_a_second_file_without_a_time_says_so():
    first = record(sha="one", when=NOON)
    again = with_history(record(sha="two"), first)
    assert "at an unknown time" in again.flags[-1].text and "times.csv" in again.flags[-1].text
    assert not with_history(record(sha="one"), first).flags
    assert not with_history(record(sha="two", when=NOON), first).flags


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared")
    prepare_course(folder, ASSIGNMENT, gradebook_url(folder))
    return folder


@pytest.fixture
def course(prepared, tmp_path):
    return Path(shutil.copytree(prepared, tmp_path / "course"))


def write(course, *records, before=None):
    writer = GradebookWriter(gradebook_url(course), ASSIGNMENT)
    writer.write([Entry(r, {CHECK: 8.0, WRITTEN: None}, {}, before, r.timestamp) for r in records])
    writer.close()
    for one in records:
        archive.write_record(course, one)


def test_a_second_file_without_a_time_keeps_no_old_time(course):
    first = record(sha="one", when=NOON)
    write(course, first)
    write(course, record(sha="one"), before=first)
    with Gradebook(gradebook_url(course)) as book:
        assert book.find_submission(ASSIGNMENT, "ann").timestamp == NOON.replace(tzinfo=None)
    write(course, record(sha="two"), before=first)
    with Gradebook(gradebook_url(course)) as book:
        assert book.find_submission(ASSIGNMENT, "ann").timestamp is None


def arrival(student, sender):
    return HandedIn(
        student, (Arrival(FileEntry((sender.name,)), student, "03.ipynb", sender=sender),)
    )


MOODLE = Sender("moodle", "107", "", "Jane Doe_107_assignsubmission_file")


@pytest.mark.parametrize(
    ("sender", "source", "is_ghost"),
    [
        (MOODLE, "x", True),
        (Sender(), "Jane Doe_107_assignsubmission_file/03_attention.ipynb", True),  # old record
        (replace(MOODLE, user="101"), "x", False),  # another number is another person
        (Sender("", "", "", "03_attention.ipynb"), "03_attention.ipynb", False),
    ],
)
def test_a_sender_with_another_id_now_leaves_a_ghost(sender, source, is_ghost):
    old = record("jane_doe_107", sender=sender, name=source)
    now = [arrival("s004", MOODLE if sender.name != "03_attention.ipynb" else sender)]
    found = ghosts(ASSIGNMENT, [old], now)
    assert [(move.student, move.to) for move in found] == (
        [("jane_doe_107", "s004")] if is_ghost else []
    )


def test_nobody_who_handed_in_now_is_a_ghost():
    old = [record("s004", sender=MOODLE), record("s009", sender=MOODLE)]
    now = [arrival("s004", MOODLE), arrival("s009", replace(MOODLE, user="101"))]
    assert ghosts(ASSIGNMENT, old, now) == []


def marked(course, student, points):
    with Gradebook(gradebook_url(course)) as book:
        grade = book.find_grade(WRITTEN, ASSIGNMENT, ASSIGNMENT, student)
        grade.manual_score, grade.needs_manual_grade = points, False
        book.find_comment(WRITTEN, ASSIGNMENT, ASSIGNMENT, student).manual_comment = "Good."
        book.db.commit()


def test_a_ghosts_grade_and_marks_go_to_the_right_student(course):
    write(course, record("jane_doe_107", sender=MOODLE))
    marked(course, "jane_doe_107", 0.5)
    for step in ("submitted", "feedback"):
        (course / step / "jane_doe_107" / ASSIGNMENT).mkdir(parents=True)
    apply(course, gradebook_url(course), [Move(ASSIGNMENT, "jane_doe_107", "s004", "why")])
    with Gradebook(gradebook_url(course)) as book:
        assert [s.id for s in book.students] == ["s004"]
        assert book.find_grade(WRITTEN, ASSIGNMENT, ASSIGNMENT, "s004").manual_score == 0.5
        assert book.find_submission(ASSIGNMENT, "s004").score == 8.5
    assert [r.student for r in archive.records(course, ASSIGNMENT)] == ["s004"]
    assert (course / "submitted" / "s004" / ASSIGNMENT).is_dir()
    assert not (course / "submitted" / "jane_doe_107").exists()
    assert not (course / "feedback" / "jane_doe_107").exists()


def test_a_student_who_has_a_grade_keeps_it_and_gains_the_marks(course):
    write(course, record("ghost", sender=MOODLE), record("s004", sha="two"))
    marked(course, "ghost", 0.5)
    apply(course, gradebook_url(course), [Move(ASSIGNMENT, "ghost", "s004", "why")])
    with Gradebook(gradebook_url(course)) as book:
        assert [s.id for s in book.students] == ["s004"]
        grade = book.find_grade(WRITTEN, ASSIGNMENT, ASSIGNMENT, "s004")
        assert (grade.manual_score, grade.needs_manual_grade) == (0.5, True)
    (kept,) = archive.records(course, ASSIGNMENT)
    assert (kept.student, kept.sha256) == ("s004", "two")


def test_somebody_on_the_roster_stays_without_the_submission(course):
    write(course, record("s009", sender=MOODLE))
    apply(course, gradebook_url(course), [Move(ASSIGNMENT, "s009", "s004", "why")], {"s009"})
    with Gradebook(gradebook_url(course)) as book:
        assert {s.id: len(s.submissions) for s in book.students} == {"s004": 1, "s009": 0}


def test_the_last_ten_gradebooks_are_kept_and_none_twice(course):
    url = gradebook_url(course)
    first = backups.back_up(course, url)
    assert first is not None and backups.back_up(course, url) == first
    for number in range(12):
        with Gradebook(url) as book:
            book.add_student(f"s{number:02d}")
        backups.back_up(course, url)
    kept = backups.backups(course)
    assert len(kept) == backups.KEPT and first not in kept
    with Gradebook(f"sqlite:///{kept[-1]}") as book:
        assert len(book.students) == 12


def test_a_damaged_gradebook_is_met_with_its_newest_sound_copy(course):
    from autograder.course_files import CourseError
    from autograder.instructor.course import open_course

    write(course, record("ann"))
    good = backups.back_up(course, gradebook_url(course))
    path = course / "gradebook.db"
    content = bytearray(path.read_bytes())
    content[4096:] = b"\x07" * (len(content) - 4096)
    path.write_bytes(content)
    for attempt in (
        lambda: open_course(course),
        lambda: backups.back_up(course, gradebook_url(course)),
    ):
        with pytest.raises(CourseError) as problem:
            attempt()
        assert "is damaged" in str(problem.value) and f"cp {good} {path}" in str(problem.value)
    (line,) = [line for line in str(problem.value).splitlines() if line.startswith("  cp ")]
    subprocess.run(shlex.split(line), check=True)  # as it is printed
    open_course(course)
    for copy in backups.backups(course):
        copy.unlink()
    path.write_bytes(b"no database at all" * 300)
    with pytest.raises(CourseError, match="there is no copy of it"):
        open_course(course)


def test_the_printed_commands_mend_the_gradebook(course, monkeypatch):
    write(course, record("ghost", sender=MOODLE), record("s009", sha="two"))
    marked(course, "ghost", 0.5)
    (course / "roster.csv").write_text("id,first_name\ns004,Jane\ns009,Nia\n")
    (course / "handed_in" / "s009").mkdir(parents=True)
    (course / "handed_in" / "s009" / "03_attention.ipynb").write_text("{}")
    monkeypatch.chdir(course)
    said = CliRunner().invoke(main, ["roster", "handed_in"])
    assert said.exit_code == 0 and "1 of 1 sender matched" in said.output
    assert "Nothing handed in: s004." in said.output
    assert "In the gradebook but not on the roster: ghost." in said.output
    merge, remove = [
        shlex.split(line.partition("    if")[0].partition("      if")[0])[1:]
        for line in said.output.splitlines()
        if line.startswith("  autograder roster")
    ]
    refused = CliRunner().invoke(main, merge)  # ID stands for an id of the roster
    assert refused.exit_code != 0 and "the roster has nobody called 'ID'" in refused.output
    copy = shutil.copytree(course, course.parent / "copy")
    done = CliRunner().invoke(main, [word.replace("=ID", "=s004") for word in merge])
    assert done.exit_code == 0, done.output
    with Gradebook(gradebook_url(course)) as book:
        assert {s.id for s in book.students} == {"s004", "s009"}
        assert book.find_submission(ASSIGNMENT, "s004").score == 8.5
    monkeypatch.chdir(copy)
    done = CliRunner().invoke(main, remove)
    assert done.exit_code == 0 and "ghost was removed: 1 submission." in done.output
    with Gradebook(gradebook_url(Path(copy))) as book:
        assert {s.id for s in book.students} == {"s009"}
    assert [r.student for r in archive.records(Path(copy), ASSIGNMENT)] == ["s009"]
