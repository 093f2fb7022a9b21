"""A class from folder to gradebook: equal to stock nbgrader, interrupted, regraded, by command."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook
from sqlalchemy.exc import OperationalError

from autograder.box import other_user, why_unavailable
from autograder.cli import main
from autograder.course_files import CourseError
from autograder.grading import archive
from autograder.grading.releases import release_notebook
from autograder.intake import HandedIn
from autograder.nbgrader_parts.database import gradebook_url
from autograder.nbgrader_parts.gradebook import GradebookWriter
from autograder.whole_class import grade_class as class_module
from autograder.whole_class.course_directory import only_writer, prepare_course
from autograder.whole_class.grade_class import Options, grade_class
from tests.grading.handing_in import (
    ASSIGNMENT,
    EXERCISE,
    NO_TANH,
    NOTHING,
    RIGHT,
    WRITTEN,
    WRONG_AXIS,
    hand_in,
    submission,
)

pytestmark = [pytest.mark.box, pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces")]
ANSWERS = {"ann": RIGHT, "bob": NO_TANH, "cem": WRONG_AXIS, "dee": NOTHING}


def book(course: Path) -> Gradebook:
    return Gradebook(f"sqlite:///{course / 'gradebook.db'}")


def scores(course: Path) -> dict:
    """Every score, and who waits for a person, by student and cell."""
    with book(course) as gradebook:
        return {
            (entry.student_id, grade.name): (grade.auto_score, grade.needs_manual_grade)
            for entry in gradebook.assignment_submissions(ASSIGNMENT)
            for notebook in entry.notebooks
            for grade in notebook.grades
        }


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory):
    folder = tmp_path_factory.mktemp("handed_in")
    for student, answer in ANSWERS.items():
        written = None if student == "dee" else f"An antidiagonal, says {student}."
        hand_in(folder, student, submission(answer, written))
    return folder


@pytest.fixture(scope="module")
def graded(handed_in, tmp_path_factory):
    """The class, graded once; tests that change it work on a copy."""
    course = tmp_path_factory.mktemp("course")
    run, verdicts = grade_class(Options(ASSIGNMENT, (handed_in,), course))
    return course, run, verdicts


@pytest.fixture
def copy(graded, tmp_path):
    return Path(shutil.copytree(graded[0], tmp_path / "course"))


def test_points_comments_and_records_tell_the_same(graded):
    course, run, verdicts = graded
    points = {v.student: v.points for v in verdicts}
    assert points["ann"] == 8 and points["dee"] == 0
    assert 0 < points["bob"] < 8 and 0 < points["cem"] < 8
    assert run.finished and run.graded == 4 and run.isolation == "box"
    stored = scores(course)
    for student, value in points.items():
        assert stored[student, f"{EXERCISE}-check"] == (value, False)
        assert stored[student, WRITTEN] == ((0.0, False) if student == "dee" else (None, True))
    with book(course) as gradebook:
        said = gradebook.find_comment(EXERCISE, ASSIGNMENT, ASSIGNMENT, "bob").auto_comment
    assert "tanh" in said
    on_disk = archive.records(course, ASSIGNMENT)
    assert [v.student for v in on_disk] == list(ANSWERS)
    assert on_disk == verdicts
    assert archive.runs(course)[-1].seeds == run.seeds
    for path in (course / "autograded").rglob("*.ipynb"):
        nbformat.validate(nbformat.read(path, as_version=4))


def test_stock_nbgrader_gives_the_same_points(graded, copy):
    shutil.rmtree(copy / "autograded")
    (copy / "gradebook.db").unlink()
    prepare_course(copy, ASSIGNMENT, gradebook_url(copy))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    line = [sys.executable, "-m", "nbgrader", "autograde", ASSIGNMENT]
    result = subprocess.run(
        line,
        cwd=copy,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    assert scores(copy) == scores(graded[0])
    with book(copy) as gradebook:
        said = gradebook.find_comment(EXERCISE, ASSIGNMENT, ASSIGNMENT, "cem").auto_comment
    assert "softmax" in said


def test_manual_grades_survive_and_finished_answers_stay_finished(handed_in, copy, tmp_path):
    with book(copy) as gradebook:
        for student in ("ann", "bob"):
            grade = gradebook.find_grade(WRITTEN, ASSIGNMENT, ASSIGNMENT, student)
            grade.manual_score, grade.needs_manual_grade = 0.5, False
        gradebook.find_comment(WRITTEN, ASSIGNMENT, ASSIGNMENT, "ann").manual_comment = "Nice."
        gradebook.db.commit()
    again = Path(shutil.copytree(handed_in, tmp_path / "again"))
    hand_in(again, "bob", submission(RIGHT, "On second thoughts: a diagonal."))
    run, _ = grade_class(Options(ASSIGNMENT, (again,), copy))
    assert run.seeds != archive.runs(copy)[0].seeds
    with book(copy) as gradebook:
        ann = gradebook.find_grade(WRITTEN, ASSIGNMENT, ASSIGNMENT, "ann")
        bob = gradebook.find_grade(WRITTEN, ASSIGNMENT, ASSIGNMENT, "bob")
        assert (ann.manual_score, ann.needs_manual_grade) == (0.5, False)
        assert (bob.manual_score, bob.needs_manual_grade) == (0.5, True)  # another text
        kept = gradebook.find_comment(WRITTEN, ASSIGNMENT, ASSIGNMENT, "ann")
        assert kept.manual_comment == "Nice."
    assert scores(copy)["bob", f"{EXERCISE}-check"][0] == 8


def test_interrupted_and_started_again_it_goes_on_where_it_stopped(handed_in, tmp_path):
    course = tmp_path / "course"

    def interrupt(progress):
        if progress.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grade_class(Options(ASSIGNMENT, (handed_in,), course, jobs=1), interrupt)
    first = archive.records(course, ASSIGNMENT)
    assert 1 <= len(first) < 4
    stored = {student for student, cell in scores(course)}
    assert stored == {v.student for v in first}  # never half-written
    run, verdicts = grade_class(Options(ASSIGNMENT, (handed_in,), course, jobs=1))
    assert len(archive.runs(course)) == 1
    assert {v.run for v in verdicts} == {run.run}
    kept = {v.student: v for v in first}
    for verdict in verdicts:
        assert verdict.student not in kept or verdict == kept[verdict.student]
    assert len(scores(course)) == 8


def test_a_file_that_came_while_a_run_was_interrupted_is_graded(tmp_path):
    folder, course = tmp_path / "handed_in", tmp_path / "course"
    hand_in(folder, "ann", submission(NO_TANH))
    hand_in(folder, "bob", submission(RIGHT))

    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grade_class(Options(ASSIGNMENT, (folder,), course, jobs=1), interrupt)
    (done,) = archive.records(course, ASSIGNMENT)
    assert done.student == "ann" and done.points < 8
    second = hand_in(folder, "ann", submission(RIGHT))
    second.rename(second.with_name("03_attention (2).ipynb"))
    hand_in(folder, "ann", submission(NO_TANH))
    _, verdicts = grade_class(Options(ASSIGNMENT, (folder,), course, jobs=1))
    assert [(v.student, v.points) for v in verdicts] == [("ann", 8), ("bob", 8)]


def test_a_path_that_is_not_there_leaves_no_course_behind(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        grade_class(Options(ASSIGNMENT, (tmp_path / "mistyped",), tmp_path / "course"))
    assert not (tmp_path / "course").exists()


def test_files_are_read_when_their_turn_comes(handed_in, tmp_path, monkeypatch):
    """A class with all its plots may be larger than the memory."""
    read, when = [], []
    real = HandedIn.read
    monkeypatch.setattr(HandedIn, "read", lambda self: (read.append(self.student), real(self))[1])
    for number in range(6):
        shutil.copytree(handed_in / "ann", tmp_path / "many" / f"s{number}")
    options = Options(ASSIGNMENT, (tmp_path / "many",), tmp_path / "course", jobs=1)
    grade_class(options, lambda progress: when.append(len(read)))
    assert when[0] < 6 and len(read) == 6


def test_other_assignments_in_the_same_folder_are_left_to_their_own_runs(tmp_path):
    folder = tmp_path / "submitted"
    hand_in(folder, "ann", submission(RIGHT))
    other = folder / "ann" / "04_translation.ipynb"
    other.write_text(json.dumps(release_notebook("04_translation")))
    (folder / "ann" / "scribbles.ipynb").write_text("{not a notebook")
    (folder / "bob").mkdir()
    (folder / "bob" / "04_translation.ipynb").write_text(other.read_text())
    run, verdicts = grade_class(Options(ASSIGNMENT, (folder,), tmp_path / "course"))
    ann, bob = verdicts
    assert run.submissions == 2 and ann.points == 8
    assert not any("04_translation" in flag.text for flag in ann.flags)
    assert any("not JSON" in flag.text for flag in ann.flags)  # it is nobody else's: never dropped
    assert not bob.graded and "It is 04_translation" in bob.flags[-1].text


def test_killed_in_the_middle_the_gradebook_is_whole(handed_in, tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from autograder.whole_class import grade_class as run\n"
        "run.BATCH = 1\n"
        "def tell(p):\n    if p.done == 3: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"run.grade_class(run.Options({ASSIGNMENT!r}, (Path({str(handed_in)!r}),), "
        f"Path({str(tmp_path / 'course')!r}), jobs=1), tell)\n"
    )
    result = subprocess.run([sys.executable, script], capture_output=True, check=False)
    assert result.returncode == -9
    before = scores(tmp_path / "course")
    assert len(before) == 4  # two submissions, each with both of its cells
    grade_class(Options(ASSIGNMENT, (handed_in,), tmp_path / "course"))
    after = scores(tmp_path / "course")
    assert len(after) == 8 and {k: after[k] for k in before} == before


def test_two_runs_at_once_are_refused(handed_in, tmp_path):
    with (
        only_writer(tmp_path),
        pytest.raises(CourseError, match="Another"),
    ):
        grade_class(Options(ASSIGNMENT, (handed_in,), tmp_path))


def test_the_command_prints_json_and_takes_single_students(handed_in, tmp_path):
    roster = tmp_path / "roster.csv"
    roster.write_text("id,first_name,last_name,email\nann,Ann,Ames,ann@example.org\nbob,Bob,,\n")
    options = ["--course", str(tmp_path), "--json", "--jobs", "1", "--only", "bob", "--only", "ann"]
    options += ["--roster", str(roster)]
    result = CliRunner().invoke(main, ["grade", ASSIGNMENT, str(handed_in), *options])
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert [r["student"] for r in said["results"]] == ["ann", "bob"]
    assert said["results"][1]["misconceptions"] == {EXERCISE: "no-tanh"}
    with book(tmp_path) as gradebook:
        ann = gradebook.find_student("ann")
    assert (ann.first_name, ann.last_name, ann.email) == ("Ann", "Ames", "ann@example.org")


def test_the_command_shows_a_summary_and_what_to_look_at(tmp_path):
    folder = tmp_path / "in"
    hand_in(folder, "ann", submission(RIGHT))
    (folder / "eve").mkdir()
    (folder / "eve" / f"{ASSIGNMENT}.ipynb").write_text("not a notebook")
    options = ["--course", str(tmp_path / "course"), "--jobs", "1"]
    result = CliRunner().invoke(main, ["grade", ASSIGNMENT, str(folder), *options])
    assert result.exit_code == 0, result.output
    assert "1 graded, 1 not graded, 1 flagged for a person" in result.output
    assert "eve:" in result.output
    original = tmp_path / "course" / ".autograder" / "originals" / ASSIGNMENT / "eve"
    assert next(original.iterdir()).read_text() == "not a notebook"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["99_nothing", "."], "There is no assignment called 99_nothing"),
        ([ASSIGNMENT, "/no/such/folder"], "/no/such/folder"),
        ([ASSIGNMENT, ".", "--cluster", "tcp://10.0.0.1:1"], "no TLS"),
        ([ASSIGNMENT, ".", "--db", "nonsense"], "gradebook"),
    ],
)
def test_what_concerns_the_run_itself_is_one_sentence(arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["grade", *arguments, "--course", str(tmp_path / "course")])
    assert result.exit_code != 0
    assert sentence in result.output
    assert "Traceback" not in result.output


def test_the_second_wall_is_chosen_said_and_recorded(handed_in, tmp_path, monkeypatch):
    if other_user.why_unavailable():
        pytest.skip(other_user.why_unavailable())
    monkeypatch.setattr("autograder.box.walls.why_unavailable", lambda: "No namespaces here.")
    line = ["grade", ASSIGNMENT, str(handed_in), "--course", str(tmp_path), "--only", "ann"]
    result = CliRunner().invoke(main, line)
    assert result.exit_code == 0, result.output
    assert "each submission runs as another user" in result.output
    assert archive.runs(tmp_path)[-1].isolation == "other user"
    assert scores(tmp_path)["ann", f"{EXERCISE}-check"][0] == 8


def test_without_namespaces_the_command_asks_for_unsafe(handed_in, tmp_path, monkeypatch):
    monkeypatch.setattr("autograder.box.walls.why_unavailable", lambda: "No namespaces here.")
    monkeypatch.setattr("autograder.box.other_user.why_unavailable", lambda: "Not root.")
    line = ["grade", ASSIGNMENT, str(handed_in), "--course", str(tmp_path), "--only", "ann"]
    refused = CliRunner().invoke(main, line)
    assert refused.exit_code == 1 and "--unsafe" in refused.output
    result = CliRunner().invoke(main, [*line, "--unsafe"])
    assert result.exit_code == 0, result.output
    assert "Without isolation" in result.output
    assert archive.runs(tmp_path)[-1].isolation == "none"
    assert scores(tmp_path)["ann", f"{EXERCISE}-check"][0] == 8


def refuse(monkeypatch, student, problem):
    """Let the gradebook refuse one student, and whoever is in the same batch."""
    real = GradebookWriter.write

    def write(self, entries):
        if any(entry.student == student for entry in entries):
            raise problem
        real(self, entries)

    monkeypatch.setattr(GradebookWriter, "write", write)


def test_who_cannot_be_stored_is_flagged_and_the_others_are_stored(tmp_path, monkeypatch):
    folder, course = tmp_path / "in", tmp_path / "course"
    for name in ("ann", "bob", "eve"):
        hand_in(folder, name, submission(RIGHT))
    refuse(monkeypatch, "bob", ValueError("a string with a NUL"))
    run, verdicts = grade_class(Options(ASSIGNMENT, (folder,), course))
    assert (run.graded, run.flagged) == (2, 1)
    found = {v.student: v for v in verdicts}
    assert found["bob"] == archive.read_record(course, ASSIGNMENT, "bob")
    assert "It could not be stored: ValueError" in str(found["bob"].flags[-1])
    assert (course / ".autograder" / "originals" / ASSIGNMENT / "bob").is_dir()
    assert {student for student, _ in scores(course)} == {"ann", "eve"}


def test_a_gradebook_that_cannot_be_reached_stops_the_run(tmp_path, monkeypatch):
    hand_in(tmp_path / "in", "ann", submission(RIGHT))
    refuse(monkeypatch, "ann", OperationalError("insert", {}, Exception("locked")))
    with pytest.raises(OperationalError):
        grade_class(Options(ASSIGNMENT, (tmp_path / "in",), tmp_path / "course"))
    assert not archive.records(tmp_path / "course", ASSIGNMENT)


def test_a_full_disk_stops_the_run_and_a_name_that_is_too_long_does_not():
    assert class_module.machine_failed(OSError(errno.ENOSPC, "No space left on device"))
    assert not class_module.machine_failed(OSError(errno.ENAMETOOLONG, "File name too long"))
