"""nbgrader with our parts in it: the instructor's own settings win, and its commands use ours."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from traitlets.config import Config

from autograder.cli import main
from autograder.grading.record import SubmissionRecord
from autograder.intake import Student
from autograder.nbgrader_parts import configuration
from autograder.nbgrader_parts.database import gradebook_url, stored_cells
from autograder.nbgrader_parts.gradebook import Entry, GradebookWriter
from autograder.whole_class.course_directory import prepare_course
from tests.grading.handing_in import ASSIGNMENT, EXERCISE, WRITTEN

OWN = """
c.ClearSolutions.code_stub = {"python": "pass  # over to you"}
c.GenerateFeedback.preprocessors = ["mine.Step"]
c.CourseDirectory.db_url = "sqlite:////elsewhere/grades.db"
"""
BEFORE_THE_ROOM = """
from autograder.nbgrader_config import configure

c = get_config()
configure(c)
from autograder.instructor import feedback

feedback.configure(c)
c.AssignLatePenalties.plugin_class = "autograder.instructor.late.LateDays"
"""


def write_own(course: Path, more: str) -> Path:
    course.mkdir(exist_ok=True)
    (course / configuration.FILE).write_text(configuration.NEW_FILE + more)
    return course


def test_the_instructors_own_settings_win_over_ours(tmp_path):
    course = write_own(tmp_path, OWN)
    config = configuration.for_course(course, ASSIGNMENT)
    assert config.GenerateFeedback.preprocessors == ["mine.Step"]
    assert config.CourseDirectory.db_url == "sqlite:////elsewhere/grades.db"
    assert gradebook_url(course) == "sqlite:////elsewhere/grades.db"
    ours = Config()
    configuration.configure(ours)
    assert config.Autograde == ours.Autograde  # what they leave alone is ours


def test_what_is_asked_for_on_the_command_line_wins_over_both(tmp_path):
    url = "sqlite:////given.db"
    config = configuration.for_course(write_own(tmp_path, OWN), ASSIGNMENT, url, "ann")
    assert (config.CourseDirectory.db_url, config.CourseDirectory.student_id) == (url, "ann")


def test_an_assignment_is_entered_with_the_instructors_own_settings(tmp_path):
    course = write_own(tmp_path, OWN)
    url = f"sqlite:///{tmp_path / 'gradebook.db'}"
    prepare_course(course, ASSIGNMENT, url)
    assert "pass  # over to you" in stored_cells(url, ASSIGNMENT)[EXERCISE].source
    assert (course / configuration.FILE).read_text().endswith(OWN)


def test_a_course_directory_made_before_nbgrader_had_its_own_room_is_still_read(tmp_path):
    (tmp_path / configuration.FILE).write_text(BEFORE_THE_ROOM)
    own, ours = configuration.own_settings(tmp_path), Config()
    configuration.configure(ours)
    assert own.GenerateFeedback == ours.GenerateFeedback
    assert own.Autograde == ours.Autograde


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A course directory with two students in its gradebook and a third on the roster."""
    folder = tmp_path_factory.mktemp("graded")
    (folder / "roster.csv").write_text(
        "id,name,section\nann,Ann Ames,A\nbob,Bob Boe,B\nzoe,Zoe,A\n"
    )
    url = gradebook_url(folder)
    prepare_course(folder, ASSIGNMENT, url)
    writer = GradebookWriter(url, ASSIGNMENT, roster=[Student("ann", "Ann", "Ames")])
    for student, points in (("ann", 8.0), ("bob", 2.5)):
        record = SubmissionRecord("run", student, ASSIGNMENT, "a.ipynb", status="graded")
        scores = {f"{EXERCISE}-check": points, WRITTEN: None}
        writer.write([Entry(record, scores, {})])
    writer.close()
    return folder


@pytest.mark.parametrize(
    ("kind", "exporter"),
    [
        ("canvas", "CanvasExport"),
        pytest.param("moodle", "MoodleExport", marks=pytest.mark.thorough),
        pytest.param("csv", "SpreadsheetExport", marks=pytest.mark.thorough),
    ],
)
def test_nbgraders_own_export_writes_the_file_that_ours_writes(graded, tmp_path, kind, exporter):
    course = Path(shutil.copytree(graded, tmp_path / "course"))
    said = CliRunner().invoke(main, ["export", "--format", kind, "--course", str(course)])
    assert said.exit_code == 0, said.output
    ours = (course / f"grades_{kind}.csv").read_bytes()
    assert b"8" in ours and b"2.5" in ours and b"zoe" in ours
    line = [sys.executable, "-m", "nbgrader", "export"]
    line += [f"--exporter=autograder.nbgrader_parts.exporters.{exporter}", "--to=theirs.csv"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(line, cwd=course, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert (course / "theirs.csv").read_bytes() == ours


def test_a_title_in_the_courses_own_settings_reaches_the_file(graded, tmp_path):
    course = Path(shutil.copytree(graded, tmp_path / "course"))
    own = f'\nc.GradesExport.titles = {{"{ASSIGNMENT}": "Attention (4711)"}}\n'
    write_own(course, own)
    said = CliRunner().invoke(main, ["export", "--format", "canvas", "--course", str(course)])
    assert said.exit_code == 0, said.output
    assert "Attention (4711)" in (course / "grades_canvas.csv").read_text("utf-8-sig")
