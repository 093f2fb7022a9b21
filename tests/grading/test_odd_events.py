"""What happens in a term that nobody plans: each event leaves grades right, marks kept, a sentence."""

import errno
import shutil
import sqlite3
import subprocess
import threading
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook
from sqlalchemy.exc import OperationalError

from autograder.box import Box
from autograder.cli import main
from autograder.grading import archive
from autograder.grading.record import (
    ExerciseRecord,
    FindingRecord,
    SubmissionRecord,
    WrittenRecord,
)
from autograder.instructor.course import open_course
from autograder.intake import read_roster
from autograder.intake.submission import Sender
from autograder.nbgrader_parts import backups
from autograder.nbgrader_parts.configuration import own_settings
from autograder.nbgrader_parts.database import gradebook_url
from autograder.nbgrader_parts.gradebook import Entry, GradebookWriter
from autograder.nbgrader_parts.late import lateness, refresh_penalties
from autograder.nbgrader_parts.times import add_to_decide, timetable
from autograder.whole_class.course_directory import prepare_course
from autograder.whole_class.history import why_older, with_history
from course_utils import register
from tests.grading.handing_in import ASSIGNMENT, EXERCISE, WRITTEN

CHECK = f"{EXERCISE}-check"
NOON = datetime(2027, 3, 5, 12, tzinfo=UTC)
ROSTER = "id,first_name,last_name,section\nann,Ann,Ames,A\nbob,Bob,Bell,B\n"


def record(student: str, points: float = 5.0, text: str = "first", when=NOON) -> SubmissionRecord:
    findings = (
        FindingRecord("shape", True, 2.0, 2.0),
        FindingRecord("weights", points > 2, points - 2.0, 6.0),
    )
    checked = ExerciseRecord(EXERCISE, points, 8.0, points == 8, findings)
    return SubmissionRecord(
        *("run", student, ASSIGNMENT, "file.ipynb", when, f"{student} {text}"),
        status="graded",
        exercises=(checked,),
        written={WRITTEN: WrittenRecord(True, text)},
    )


def enter(course: Path, *records: SubmissionRecord) -> None:
    """What grading does with records, without the grading."""
    writer = GradebookWriter(gradebook_url(course), ASSIGNMENT, own_settings(course), (), course)
    for one in records:
        before = archive.read_record(course, ASSIGNMENT, one.student)
        share = one.exercises[0].points / one.exercises[0].max_points
        worth = {
            cell.metadata["nbgrader"]["grade_id"]: cell.metadata["nbgrader"]["points"]
            for cell in _release(course).cells
            if cell.metadata.get("nbgrader", {}).get("grade")
        }
        scores = {CHECK: share * worth[CHECK], WRITTEN: None}
        writer.write([Entry(one, scores, {}, before, one.timestamp)])
        archive.write_record(course, one)
    writer.close()


def _release(course: Path):
    import nbformat

    return nbformat.read(course / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb", as_version=4)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """Ann 8 of 8 and marked 0.5 of 1; Bob 5 of 8 and unmarked. Both handed in on 5 March at noon."""
    course = tmp_path_factory.mktemp("term")
    (course / "roster.csv").write_text(ROSTER)
    prepare_course(course, ASSIGNMENT, gradebook_url(course))
    enter(course, record("ann", 8.0), record("bob"))
    mark(course, "ann", 0.5)
    return course


@pytest.fixture
def course(fresh, tmp_path):
    yield Path(shutil.copytree(fresh, tmp_path / "course"))
    register.use(None)


def mark(course: Path, student: str, points: float) -> None:
    with Gradebook(gradebook_url(course)) as book:
        grade = book.find_grade(WRITTEN, ASSIGNMENT, ASSIGNMENT, student)
        grade.manual_score, grade.needs_manual_grade = points, False
        book.db.commit()


def choose(course: Path, text: str) -> None:
    (course / "course.toml").write_text(text, encoding="utf-8")
    prepare_course(course, ASSIGNMENT, gradebook_url(course))


def grade(course: Path, student: str, cell: str = WRITTEN) -> tuple:
    with Gradebook(gradebook_url(course)) as book:
        found = book.find_grade(cell, ASSIGNMENT, ASSIGNMENT, student)
        return found.score, found.max_score, bool(found.needs_manual_grade)


def penalty(course: Path, student: str) -> tuple[float, int]:
    """What late days cost a student, and how many there are."""
    with Gradebook(gradebook_url(course)) as book:
        refresh_penalties(book, own_settings(course), [ASSIGNMENT], course)
        found = book.find_submission(ASSIGNMENT, student)
        return found.late_submission_penalty or 0.0, lateness(found, timetable(course)).days


def worth(checked: float, written: float) -> str:
    return f"[points]\n{EXERCISE} = {checked}\n{WRITTEN} = {written}\n"


# ---- points, exercises, releases ----


def test_points_changed_twice_between_two_gradings_keep_every_share(course):
    choose(course, worth(12, 4))
    choose(course, worth(3, 3))
    assert grade(course, "ann") == (1.5, 3, False)
    assert grade(course, "bob", CHECK) == (pytest.approx(5 / 8 * 3), 3, False)
    mark(course, "ann", 3)  # somebody looks again, out of 3
    choose(course, worth(8, 1))
    assert grade(course, "ann") == (1, 1, False)
    assert grade(course, "bob", CHECK) == (pytest.approx(5), 8, False)


def test_a_dropped_exercise_comes_back_with_its_marks(course):
    choose(course, f'does_not_count = ["{WRITTEN}", "{EXERCISE}"]\n')
    assert grade(course, "ann") == (0, 0, False)
    choose(course, worth(8, 2))
    assert grade(course, "ann") == (1, 2, False)
    assert grade(course, "bob") == (0, 2, True)


@pytest.mark.parametrize("rule", ["does_not_count", "full_marks"])
def test_a_mark_that_comes_back_for_another_text_is_looked_at_again(course, rule):
    choose(course, f'{rule} = ["{WRITTEN}"]\n')
    enter(course, record("ann", 8.0, "second"))
    assert grade(course, "ann")[2] is False
    choose(course, "")
    assert grade(course, "ann") == (0.5, 1, True)


def test_exercises_in_another_order_change_nothing(course, monkeypatch):
    from autograder import build

    before = grade(course, "ann"), grade(course, "bob", CHECK)
    build_one = build.read_source

    def turned(path):
        notebook = build_one(path)
        names = [c.metadata.get("nbgrader", {}).get("grade_id", "") for c in notebook.cells]
        place, check = names.index(WRITTEN), names.index(EXERCISE)
        notebook.cells.insert(check - 1, notebook.cells.pop(place))
        return notebook

    monkeypatch.setattr(build, "read_source", turned)
    choose(course, 'title = "Turned round"\n')
    order = [c.metadata.get("nbgrader", {}).get("grade_id") for c in _release(course).cells]
    assert order.index(WRITTEN) < order.index(EXERCISE)
    assert (grade(course, "ann"), grade(course, "bob", CHECK)) == before


# ---- times ----

LATE = """timezone = "Europe/Berlin"
[due]
03_attention = {due}
[late]
share_a_day = {share}
"""


def test_a_late_rule_that_changes_after_grading_counts_at_once(course):
    choose(course, LATE.format(due="2027-03-04T13:00:00", share=0.1))
    assert penalty(course, "bob") == (pytest.approx(0.5), 1)
    choose(course, LATE.format(due="2027-03-04T13:00:00", share=0.2))
    assert penalty(course, "bob") == (pytest.approx(1.0), 1)
    choose(course, LATE.format(due="2027-03-04T13:00:00", share=0.2).partition("[late]")[0])
    assert penalty(course, "bob") == (0, 1)


def test_a_due_date_that_is_taken_out_is_taken_back(course):
    choose(course, LATE.format(due="2027-03-04T13:00:00", share=0.1))
    assert penalty(course, "bob")[0] > 0
    choose(course, "[late]\nshare_a_day = 0.1\n")
    assert penalty(course, "bob") == (0, 0)


def test_a_due_date_that_somebody_set_in_formgrader_stays(course):
    with Gradebook(gradebook_url(course)) as book:
        book.find_assignment(ASSIGNMENT).duedate = datetime(2027, 3, 4, 12)
        book.db.commit()
    choose(course, "[late]\nshare_a_day = 0.1\n")
    assert penalty(course, "bob")[1] == 1


def test_who_changes_the_section_gets_its_due_date(course):
    text = LATE.format(due="2027-03-04T13:00:00", share=0.1)
    choose(course, f'{text}[sections."B".due]\n03_attention = 2027-03-08T18:00:00\n')
    assert penalty(course, "bob") == (0, 0)
    (course / "roster.csv").write_text(ROSTER.replace("Bell,B", "Bell,A"))
    assert penalty(course, "bob") == (pytest.approx(0.5), 1)
    (course / "roster.csv").write_text(ROSTER)
    assert penalty(course, "bob") == (0, 0)


def test_an_excuse_after_the_penalty_takes_it_back_and_without_it_it_returns(course):
    choose(course, LATE.format(due="2027-03-04T13:00:00", share=0.1))
    assert penalty(course, "bob")[0] > 0
    (course / "times.csv").write_text(f"student,assignment,excused\nbob,{ASSIGNMENT},yes\n")
    assert penalty(course, "bob")[0] == 0
    (course / "times.csv").unlink()
    assert penalty(course, "bob")[0] > 0


@pytest.mark.parametrize(
    ("due", "handed_in", "days"),
    [
        # the clocks go back on 31 October 2027 and forward on 28 March
        ("2027-10-30T18:00:00", "2027-10-31 18:00", 1),
        ("2027-10-30T18:00:00", "2027-10-31 18:01", 2),
        ("2027-03-27T18:00:00", "2027-03-28 18:00", 1),
        ("2027-03-27T18:00:00", "2027-03-28 18:30", 2),
        # half past two comes twice, and once not at all: the student has the longer time
        ("2027-10-31T02:30:00", "2027-10-31 02:30+01:00", 0),
        ("2027-10-31T02:30:00", "2027-10-31 02:31+01:00", 1),
        ("2027-03-28T02:30:00", "2027-03-28 03:29", 0),
    ],
)
def test_days_are_counted_by_the_clock_on_the_wall(course, due, handed_in, days):
    choose(course, LATE.format(due=due, share=0.1))
    line = f"bob,{ASSIGNMENT},{handed_in}\n"
    (course / "times.csv").write_text(f"student,assignment,handed_in_at\n{line}")
    assert penalty(course, "bob") == (pytest.approx(0.5 * days), days)


# ---- files and people ----


def test_a_student_may_go_back_to_an_earlier_file():
    second = replace(record("ann", when=NOON), sha256="two", earlier=("one",))
    back = replace(second, sha256="one", earlier=())
    assert not why_older(replace(back, timestamp=NOON + timedelta(hours=1)), second)
    assert why_older(replace(back, timestamp=NOON - timedelta(hours=1)), second)
    assert why_older(replace(back, timestamp=None), second)
    numbered = [Sender("canvas", "7", number, "ann.ipynb") for number in ("100", "200")]
    older, newer = (replace(back, timestamp=None, sender=sender) for sender in numbered)
    assert not why_older(newer, replace(second, sender=numbered[0]))
    assert why_older(older, replace(second, sender=numbered[1]))


def test_a_line_that_tells_a_spreadsheet_its_separator_is_no_title(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("sep=;\nid;first_name\ns1;Ann\n")
    assert [(p.id, p.first_name) for p in read_roster(path)] == [("s1", "Ann")]


ODD_ROSTER = 'id;first_name;last_name;section\ns1;"Bill, Jr.";O\'Neil;A\ns2;عمر;الفارسي;B\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("delimiter", [";", ",", "\t"])
def test_a_roster_from_any_spreadsheet_is_read(tmp_path, encoding, delimiter):
    path = tmp_path / "roster.csv"
    path.write_bytes(ODD_ROSTER.replace(";", delimiter).encode(encoding))
    found = [(p.id, p.first_name, p.last_name, p.section) for p in read_roster(path)]
    assert found == [("s1", "Bill, Jr.", "O'Neil", "A"), ("s2", "عمر", "الفارسي", "B")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_lines_to_decide_are_added_in_the_encoding_of_the_file(course, encoding):
    path = course / "times.csv"
    before = "student;assignment;note\r\nbob;03_attention;früh\r\n".encode(encoding)
    path.write_bytes(before)
    assert add_to_decide(course, ASSIGNMENT, ["ann"], "Canvas marks it as late") == ["ann"]
    assert path.read_bytes().startswith(before)
    assert timetable(course).undecided(ASSIGNMENT) == ["ann", "bob"]


def test_names_with_commas_and_from_right_to_left_reach_the_export_whole(course):
    (course / "roster.csv").write_text(
        'id,first_name,last_name\nann,"Bill, Jr.","=O\'Neil"\nbob,عمر,الفارسي\n', encoding="utf-8"
    )
    said = CliRunner().invoke(main, ["export", "--format", "csv", "--course", str(course)])
    assert said.exit_code == 0, said.output
    text = (course / "grades_csv.csv").read_text(encoding="utf-8-sig")
    assert "Bill, Jr." in text and "الفارسي" in text and ",=O" not in text


# ---- what else is going on ----


@pytest.fixture
def locked(course):
    """Somebody else, such as formgrader, is in the middle of writing the gradebook."""
    holds, may_go = threading.Event(), threading.Event()

    def hold():
        with closing(sqlite3.connect(course / "gradebook.db", isolation_level=None)) as book:
            book.execute("begin immediate")
            book.execute("update student set first_name = first_name")
            holds.set()
            may_go.wait(60)
            book.execute("rollback")

    thread = threading.Thread(target=hold)
    thread.start()
    holds.wait(10)
    yield course
    may_go.set()
    thread.join()


@pytest.mark.parametrize(
    "line",
    [
        ["export", "--format", "csv"],
        ["report"],
        ["feedback", ASSIGNMENT],
        ["regrade", ASSIGNMENT, "--yes"],
        ["roster", "--remove", "bob"],
    ],
)
def test_a_gradebook_that_somebody_else_writes_is_a_sentence(locked, line):
    # so that every command wants to write
    late = LATE.format(due="2027-03-04T13:00:00", share=0.1)
    (locked / "course.toml").write_text(late + worth(12, 4))
    said = CliRunner().invoke(main, [*line, "--course", str(locked)])
    assert said.exit_code != 0 and isinstance(said.exception, SystemExit), repr(said.exception)
    assert "database is locked" in said.output and "try again" in said.output
    assert "[SQL" not in said.output and "sqlalche.me" not in said.output
    with Gradebook(gradebook_url(locked)) as book:
        assert len(book.students) == 2


def test_a_full_disk_before_grading_changes_nothing(course, tmp_path):
    """A real one: the course lies in a file system that has no room left."""
    if not shutil.which("bwrap"):
        pytest.skip("no namespaces")
    script = (
        f"cp -r {course}/. /mnt/ && (dd if=/dev/zero of=/mnt/filler bs=64k 2>/dev/null; true) && "
        "sha256sum /mnt/gradebook.db && "
        "autograder export --format csv --course /mnt; echo status $?; sha256sum /mnt/gradebook.db"
    )
    box = ["bwrap", "--dev-bind", "/", "/", "--size", str(4 << 20), "--tmpfs", "/mnt"]
    done = subprocess.run([*box, "bash", "-c", script], capture_output=True, text=True, check=False)
    if "bwrap:" in done.stderr:
        pytest.skip(done.stderr)
    said = done.stdout + done.stderr
    assert "status 1" in said and "Traceback" not in said, said
    assert "free some disk space" in said
    first, last = (line for line in done.stdout.splitlines() if "gradebook.db" in line)
    assert first == last


@pytest.mark.parametrize(
    ("problem", "remedy"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/a/b"), "Free some disk space"),
        (OSError(errno.EROFS, "Read-only file system"), "Make the course directory writable"),
        (OperationalError("insert", {}, sqlite3.Error("database is locked")), "try again"),
        (OperationalError("commit", {}, sqlite3.Error("database or disk is full")), "disk space"),
    ],
)
def test_grading_that_can_not_be_stored_ends_in_a_sentence(course, problem, remedy, monkeypatch):
    from autograder.whole_class import grade_class

    def fails(*given):
        raise problem

    monkeypatch.setattr(Box, "start", lambda box: None)
    monkeypatch.setattr(grade_class, "grade_class", fails)
    said = CliRunner().invoke(main, ["grade", ASSIGNMENT, "in", "--course", str(course)])
    assert said.exit_code == 1 and isinstance(said.exception, SystemExit)
    assert remedy in said.output and "[SQL" not in said.output


def test_two_students_who_swap_their_files_each_get_what_they_handed_in(course):
    ann, bob = (archive.read_record(course, ASSIGNMENT, name) for name in ("ann", "bob"))
    swapped = [
        replace(
            ann, sha256=bob.sha256, exercises=bob.exercises, timestamp=NOON + timedelta(days=1)
        ),
        replace(
            bob, sha256=ann.sha256, exercises=ann.exercises, timestamp=NOON + timedelta(days=1)
        ),
    ]
    for new, old in zip(swapped, (ann, bob), strict=True):
        assert not why_older(new, old)
    enter(course, *(with_history(n, o) for n, o in zip(swapped, (ann, bob), strict=True)))
    assert grade(course, "ann", CHECK)[0] == 5 and grade(course, "bob", CHECK)[0] == 8
    assert grade(course, "ann") == (0.5, 1, False)  # the same text as before
    back = replace(ann, timestamp=NOON + timedelta(days=2))
    assert not why_older(back, archive.read_record(course, ASSIGNMENT, "ann"))


def test_copies_of_the_gradebook_are_sound_while_somebody_reads(course):
    with closing(sqlite3.connect(course / "gradebook.db", isolation_level=None)) as book:
        book.execute("begin")
        book.execute("select count(*) from student").fetchone()
        made = open_course(course) and backups.backups(course)[-1]
    with closing(sqlite3.connect(made)) as copy:
        assert copy.execute("select count(*) from student").fetchone() == (2,)


def test_a_record_that_was_cut_off_is_named_once_with_what_to_do(course, caplog):
    """A machine that lost its power may leave half a file."""
    (path,) = (course / ".autograder" / "verdicts").rglob("*bob*.json")
    path.write_text(path.read_text()[:-30])
    said = CliRunner().invoke(main, ["report", "--course", str(course)])
    assert said.exit_code == 0, repr(said.exception)
    (sentence,) = caplog.messages
    assert str(path) in sentence and "Grade the submission again" in sentence
