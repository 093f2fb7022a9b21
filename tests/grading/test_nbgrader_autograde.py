"""`nbgrader autograde` on files as students made them: one stops nobody else."""

import copy
import json

import pytest
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.nbgraderformat import SCHEMA_VERSION

from autograder.grading import archive, clean
from autograder.grading.reading import Readers
from autograder.nbgrader_parts import steps
from autograder.nbgrader_parts.configuration import for_course
from autograder.nbgrader_parts.database import gradebook_url
from autograder.whole_class.course_directory import prepare_course
from tests.grading.handing_in import ASSIGNMENT, EXERCISE, RIGHT, cell_of, hand_in, submission

pytestmark = pytest.mark.box


def twice(notebook):
    notebook.cells.append(copy.deepcopy(cell_of(notebook, EXERCISE)))
    return notebook


def marked(notebook, **marks):
    cell_of(notebook, EXERCISE).metadata.nbgrader.update(marks)
    return notebook


NOTEBOOKS = {
    "a_newer_schema": lambda: marked(submission(RIGHT), schema_version=99),
    "an_older_schema": lambda: marked(submission(RIGHT), schema_version=1),
    "a_cell_twice": lambda: twice(submission(RIGHT)),
    "a_surrogate": lambda: marked(submission(RIGHT), grade_id="\ud800"),
    "points_of_its_own": lambda: marked(submission(RIGHT), points=1000.0),
}
BYTES = {
    "deep": b'{"cells": [' + b"[" * 100_000,
    "millions_of_lists": b'{"cells": [' + b"[]," * (2 << 20) + b"0]}",
    "no_notebook": b"\xff\xfe\x00",
    "nothing": b"",
}


def test_one_file_stops_nobody_else(tmp_path, monkeypatch):
    url = gradebook_url(tmp_path)
    for student, make in NOTEBOOKS.items():
        hand_in(tmp_path / "submitted", f"{student}/{ASSIGNMENT}", make())
    for student, content in BYTES.items():
        place = hand_in(tmp_path / "submitted", f"{student}/{ASSIGNMENT}", {})
        place.write_bytes(content)
    for student in ("ann", "zoe"):
        hand_in(tmp_path / "submitted", f"{student}/{ASSIGNMENT}", submission(RIGHT))
    prepare_course(tmp_path, ASSIGNMENT, url)
    monkeypatch.setattr(steps, "_readers", [])
    config = for_course(tmp_path, ASSIGNMENT, url)
    with pytest.raises(NbGraderException) as ended:
        Autograde(coursedir=CourseDirectory(config=config), config=config).start()
    steps.readers().close()
    assert ended.value.args
    points = {entry.student: entry.points for entry in archive.records(tmp_path, ASSIGNMENT)}
    assert points["ann"] == points["zoe"] == 8
    assert points["a_newer_schema"] == points["an_older_schema"] == 8
    assert max(points.values()) == 8
    assert not set(points) & set(BYTES)  # nobody gets a grade for what could not be read


def test_what_can_not_be_read_within_the_limits_never_reaches_nbgrader(tmp_path, monkeypatch):
    large, small = tmp_path / "large.ipynb", tmp_path / "small.ipynb"
    large.write_text(json.dumps({"cells": [], "metadata": {"x": "y" * (80 << 20)}}))
    small.write_text(json.dumps(submission(RIGHT)))
    notebooks = [str(large), str(small)]
    with Readers(memory=64 << 20) as limited:
        monkeypatch.setattr(steps, "_readers", [limited])
        steps.leave_out_unreadable(ASSIGNMENT, "eve", notebooks)
    assert notebooks == [str(small)]


def test_the_schema_of_marks_is_nbgraders():
    assert clean.SCHEMA_VERSION == SCHEMA_VERSION
