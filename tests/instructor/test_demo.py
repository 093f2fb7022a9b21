"""The invented class has every kind of student, and as many misconceptions as fit."""

import csv
import random

import nbformat
import pytest

from autograder.course_files import CourseError
from autograder.grading.releases import release_notebook
from autograder.instructor import demo
from autograder.intake import collect, read_roster
from tests.instructor.guides import SERVERS, follow

NAME = "03_attention"


def make(count, seed=0):
    rng = random.Random(seed)
    students = demo.make_students(count, rng)
    return students, demo.make_class(students, [NAME], rng)


def test_thirty_students_have_every_kind():
    students, files = make(30)
    assert len(files) == len(students) == 30
    kinds = {file.kind for file in files}
    assert {"right", "misconception", "late", "hostile", "cut short", "unanswered"} <= kinds
    assert len(kinds & set(demo.DAMAGES)) >= 4
    assert sum(file.kind == "hostile" for file in files) == 1


def test_a_large_class_has_each_known_misconception():
    _, files = make(120)
    assert demo.misconceptions_shown(files) == demo.known_misconceptions([NAME])
    assert len(demo.misconceptions_shown(files)) >= 20


def test_the_same_seed_makes_the_same_class():
    assert make(20, seed=5) == make(20, seed=5)
    assert make(20, seed=5)[1] != make(20, seed=6)[1]


def test_a_small_class_still_works():
    _, files = make(5)
    assert len(files) == 5
    assert any(file.kind == "hostile" for file in files)


def test_late_files_are_late_and_the_others_are_not():
    _, files = make(40)
    for file in files:
        assert (file.when > demo.DUE) == (file.kind == "late")


def test_every_repairable_file_is_repaired_by_intake(tmp_path):
    students, files = make(40)
    for file in files:
        folder = tmp_path / file.student
        folder.mkdir()
        (folder / file.name).write_bytes(file.content)
    found = {s.student: s for s in collect(tmp_path, {NAME: release_notebook(NAME)})}
    for file in files:
        submission = found[file.student]
        if file.kind == "cut short":
            assert submission.notebook is None and submission.flags
        else:
            nbformat.validate(submission.notebook)
            assert bool(submission.repairs) == (file.kind in demo.DAMAGES), file.kind


def test_the_roster_is_one_that_intake_can_read(tmp_path):
    students, _ = make(30)
    demo.write_roster(tmp_path / "roster.csv", students)
    assert read_roster(tmp_path / "roster.csv") == students
    with (tmp_path / "roster.csv").open(encoding="utf-8", newline="") as file:
        names = [row["last_name"] for row in csv.DictReader(file)]
    assert any("," in name for name in names) and any('"' in name for name in names)


def test_an_assignment_that_is_not_there_is_a_sentence():
    with pytest.raises(CourseError, match="no notebook 99_none"):
        demo.available_assignments(("99_none",))


@pytest.mark.thorough
@pytest.mark.box
@pytest.mark.slow
def test_the_commands_that_it_prints_run_as_they_are_printed(demonstration, course):
    folder, said = demonstration
    lines = said.partition("Then try:\n")[2].splitlines()
    commands = [line.partition("#")[0].strip().replace(str(folder), str(course)) for line in lines]
    commands = [SERVERS.get(command, command) for command in commands if command]
    assert len(commands) == 5 and commands[0] == f"cd {course}"
    follow(commands, course)
    assert (course / "grades_canvas.csv").is_file()


def test_a_class_that_runs_without_a_box_has_nobody_hostile_in_it():
    rng = random.Random(0)
    files = demo.make_class(demo.make_students(30, rng), [NAME], rng, hostile=False)
    assert len(files) == 30 and {"late", "cut short"} <= {file.kind for file in files}
    assert "hostile" not in {file.kind for file in files}
    assert not any(b"rm -rf" in file.content for file in files)
