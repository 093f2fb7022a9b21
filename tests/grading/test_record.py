"""The record of a submission: what is written is read again, also what older versions wrote."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.grading import archive, record
from autograder.grading.record import Flag, SubmissionRecord
from autograder.grading.verdict import Grades, Judged, with_verdicts
from autograder.intake.submission import Sender
from course_utils.checks import judge

OLD_COURSE = Path(__file__).with_name("graded_by_format_1")
ASSIGNMENT = "03_attention"
EXERCISE = "dot-prod-attention"
LEFT = "It left Python (status 0) before it could be asked."


@pytest.fixture
def old(tmp_path):
    return Path(shutil.copytree(OLD_COURSE, tmp_path / "course"))


def test_records_of_format_1_are_read(old):
    ann, bob, cem = archive.records(old, ASSIGNMENT)
    assert (ann.points, ann.max_points, ann.graded) == (5.5, 8, True)
    assert ann.timestamp.isoformat() == "2026-02-02T09:30:00+00:00"
    assert ann.exercise(EXERCISE).seeds == (5, 6, 7)
    assert ann.exercise(EXERCISE).misconception == "no-tanh"
    assert [finding.passed for finding in ann.exercise(EXERCISE).findings] == [True, False]
    assert ann.written["reversal-map"].answered
    assert bob.exercise(EXERCISE).box == "crashed"
    assert not cem.graded and cem.handed_in == ""


def test_flags_of_format_1_get_the_source_that_raised_them(old):
    _, bob, cem = archive.records(old, ASSIGNMENT)
    assert [flag.source for flag in bob.flags] == ["intake", "box"]
    assert bob.flags[1] == Flag("box", LEFT, EXERCISE)
    assert str(bob.flags[1]) == f"{EXERCISE}: {LEFT}"
    assert cem.flags == (Flag("intake", "This file is not JSON."),)


def test_runs_of_format_1_are_read(old):
    (run,) = archive.runs(old, ASSIGNMENT)
    assert run.seeds == {EXERCISE: (5, 6, 7)} and run.graded == 2
    assert run.problems == (record.Problem("cem", "This file is not JSON."),)
    assert archive.unfinished_run(old, ASSIGNMENT) is None


def test_what_is_written_comes_back_the_same(old):
    for entry in archive.records(old, ASSIGNMENT):
        archive.write_record(old, entry)
        stored = archive.record_path(old, ASSIGNMENT, entry.student).read_text(encoding="utf-8")
        assert json.loads(stored)["format"] == record.FORMAT == 2
        assert archive.read_record(old, ASSIGNMENT, entry.student) == entry
    (run,) = archive.runs(old)
    archive.write_run(old, run)
    assert archive.runs(old) == [run]


def test_the_numbers_of_the_learning_system_are_kept(old):
    sender = Sender("canvas", "4711", "90210", "anderssonann_4711_90210_03_attention.ipynb")
    ann = archive.read_record(old, ASSIGNMENT, "ann")
    assert ann.sender == Sender()
    archive.write_record(old, replace(ann, sender=sender))
    assert archive.read_record(old, ASSIGNMENT, "ann").sender == sender


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 99}', '{"format": 2, "run": "x"}'])
def test_a_damaged_record_is_no_record(old, text):
    archive.record_path(old, ASSIGNMENT, "ann").write_text(text)
    assert archive.read_record(old, ASSIGNMENT, "ann") is None
    assert [entry.student for entry in archive.records(old, ASSIGNMENT)] == ["bob", "cem"]


def judged(box="ok", message=""):
    return Judged(judge.failed_verdict(EXERCISE, message or "wrong"), (1, 2), box, message)


def test_judging_again_replaces_only_the_flags_of_box_and_judge_on_the_same_exercise():
    kept = (
        Flag("intake", f"{EXERCISE}: two cells answer it; decide which one counts."),
        Flag("box", LEFT, "another-exercise"),
    )
    before = SubmissionRecord("old", "ann", ASSIGNMENT, "a.ipynb", flags=(*kept, bad("crashed")))
    assert with_verdicts(before, Grades((judged(),), "", 0.1), "new", {}).flags == kept
    again = with_verdicts(before, Grades((judged("forged", LEFT),), "", 0.1), "new", {})
    assert again.flags == (*kept, bad("forged"))


def bad(box):
    return Flag("judge" if box == "forged" else "box", LEFT, EXERCISE)


@pytest.mark.parametrize(("box", "flags"), [("timeout", 0), ("memory", 0), ("output", 1)])
def test_an_answer_stopped_at_a_limit_of_time_or_memory_needs_nobody(box, flags):
    blank = SubmissionRecord("run", "ann", ASSIGNMENT, "a.ipynb")
    graded = with_verdicts(blank, Grades((judged(box, "Stopped."),), "", 0.1), "run", {})
    assert len(graded.flags) == flags and graded.graded


def test_exercises_that_are_not_judged_again_stay_as_they_were(old):
    ann = archive.read_record(old, ASSIGNMENT, "ann")
    other = replace(ann.exercises[0], exercise="another-exercise")
    both = replace(ann, exercises=(other, *ann.exercises))
    after = with_verdicts(both, Grades((judged(),), "", 0.1), "new", ann.written)
    assert after.exercises[0] == other
    assert (after.exercise(EXERCISE).points, after.points) == (0.0, other.points)
