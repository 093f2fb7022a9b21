"""Every way of grading leaves the same record, and grading again loses nothing of it."""

import copy
from dataclasses import replace
from pathlib import Path

import pytest
from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory

from autograder.grading import archive
from autograder.grading.record import Flag
from autograder.instructor.course import open_course
from autograder.instructor.regrade import regrade
from autograder.nbgrader_parts import steps
from autograder.nbgrader_parts.configuration import for_course
from autograder.nbgrader_parts.database import gradebook_url
from autograder.whole_class.course_directory import prepare_course
from autograder.whole_class.grade_class import Options, grade_class
from tests.grading.handing_in import (
    ASSIGNMENT,
    EXERCISE,
    NO_TANH,
    NOTHING,
    RIGHT,
    cell_of,
    hand_in,
    submission,
)

pytestmark = pytest.mark.box
LEAVES = "import os; os._exit(0)"
FORGES = (
    "import course_utils.checks.probes as probes\n"
    "probes.answer = lambda request, namespace: b'no frame'"
)
ANSWERS = {"ann": RIGHT, "bob": NO_TANH, "cem": NOTHING, "eve": LEAVES, "fay": FORGES}


def nbgrader_autograde(course: Path) -> None:
    config = for_course(course, ASSIGNMENT, gradebook_url(course))
    Autograde(coursedir=CourseDirectory(config=config), config=config).start()


def without_run(entry):
    """A record without what differs between any two runs."""
    return replace(entry, run="", seconds=0.0)


@pytest.fixture(scope="module")
def both_ways(tmp_path_factory):
    """The records of the same files by `autograder grade` and by `nbgrader autograde`."""
    ours, theirs = tmp_path_factory.mktemp("ours"), tmp_path_factory.mktemp("theirs")
    for student, answer in ANSWERS.items():
        notebook = submission(answer, f"An antidiagonal, says {student}.")
        place = hand_in(theirs / "submitted", f"{student}/{ASSIGNMENT}", notebook)
        (place.parent / "timestamp.txt").write_text("2026-03-04 09:34:00 UTC")
    run, _ = grade_class(Options(ASSIGNMENT, (theirs / "submitted",), ours))
    prepare_course(theirs, ASSIGNMENT, gradebook_url(theirs))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps.Execute, "_seeds", dict(run.seeds))
        nbgrader_autograde(theirs)
    return archive.records(ours, ASSIGNMENT), archive.records(theirs, ASSIGNMENT), theirs


def test_nbgraders_own_command_leaves_the_same_records(both_ways):
    ours, theirs, _ = both_ways
    assert [entry.student for entry in ours] == list(ANSWERS)
    for one, other in zip(ours, theirs, strict=True):
        assert without_run(one) == without_run(other)


def test_both_flag_an_answer_that_ends_its_process_or_sends_something_else(both_ways):
    for records in both_ways[:2]:
        flags = {entry.student: entry.flags for entry in records}
        assert [(flag.source, flag.exercise) for flag in flags["eve"]] == [("box", EXERCISE)]
        assert [(flag.source, flag.exercise) for flag in flags["fay"]] == [("judge", EXERCISE)]
        assert not flags["ann"] and not flags["bob"] and not flags["cem"]


def test_graded_again_by_nbgrader_the_records_keep_what_intake_said(both_ways):
    *_, course = both_ways
    said = archive.read_record(course, ASSIGNMENT, "eve")
    doubt = Flag("intake", "Two different notebooks were handed in.")
    marked = replace(said, flags=(doubt, *said.flags), repairs=("Mended.",))
    archive.write_record(course, marked)
    nbgrader_autograde(course)
    after = archive.read_record(course, ASSIGNMENT, "eve")
    assert after.flags == marked.flags and after.repairs == marked.repairs


def two_answers(notebook):
    """The same exercise answered twice, so that a person must decide."""
    twin = copy.deepcopy(cell_of(notebook, EXERCISE))
    twin.source, twin["id"] = NO_TANH, "twin"
    notebook.cells.insert(1, twin)
    return notebook


def test_a_class_with_flags_of_intake_is_regraded_and_loses_none(tmp_path):
    folder, course = tmp_path / "handed_in", tmp_path / "course"
    hand_in(folder, "ann", two_answers(submission(RIGHT)))
    hand_in(folder, "eve", two_answers(submission(f"{RIGHT}\n{LEAVES}")))
    second = hand_in(folder, "bob", submission(RIGHT))
    second.rename(second.with_name(f"{ASSIGNMENT} (2).ipynb"))
    hand_in(folder, "bob", submission(NO_TANH))
    _, before = grade_class(Options(ASSIGNMENT, (folder,), course))
    said = [flag for entry in before for flag in entry.flags]
    assert any(flag.text.startswith(f"{EXERCISE}: ") for flag in said if flag.source == "intake")
    assert any("bob" in flag.text for flag in said)
    assert [flag.source for flag in before[2].flags] == ["intake", "box"]
    for exercises in ((), (EXERCISE,)):
        done = regrade(open_course(course), ASSIGNMENT, exercises=exercises, same_seeds=True)
        after = archive.records(course, ASSIGNMENT)
        assert [without_run(entry) for entry in after] == [without_run(entry) for entry in before]
        assert {entry.run for entry in after} == {done.run.run}
        assert not any(change.changed for change in done.changes)


def test_a_stored_notebook_that_is_damaged_is_named_and_the_others_are_judged_again(tmp_path):
    folder, course = tmp_path / "handed_in", tmp_path / "course"
    for student in ("ann", "bob", "eve"):
        hand_in(folder, student, submission(RIGHT))
    _, before = grade_class(Options(ASSIGNMENT, (folder,), course))
    place = course / "submitted" / "bob" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    place.write_bytes(b'{"cells": [' + b"[" * 100_000)
    (course / "submitted" / "eve" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").unlink()
    done = regrade(open_course(course), ASSIGNMENT)
    assert {problem.student for problem in done.run.problems} == {"bob", "eve"}
    assert all("could not be graded again" in problem.message for problem in done.run.problems)
    assert [change.student for change in done.changes] == ["ann"]
    after = archive.records(course, ASSIGNMENT)
    assert [entry.points for entry in after] == [8, 8, 8]
    assert [entry.run for entry in after] == [done.run.run, before[1].run, before[2].run]
