"""Grades read back by a CSV parser and by the rules of each system."""

import csv
import io
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.intake import Student
from autograder.intake.text import FORMULA, harmless
from autograder.nbgrader_parts.exporters import (
    EXPORTERS,
    Column,
    by_exercise,
    canvas,
    moodle,
    plain_csv,
)
from autograder.nbgrader_parts.marks import Mark, Sheet

STUDENTS = [
    Student("jdoe", "Jane", "Doe", "Jane.Doe@uni.example", "123", "A", "S1"),
    Student("obrien", 'Seán "Jr."', "O'Brien, III", "sean@uni.example", "124"),
    Student("wang", "小明", "王", "wang@uni.example", "125"),
    Student("evil", "=HYPERLINK(1)", "@SUM(A1)", "-e@uni.example", "126"),
]


def sheet(student, score, penalty=0.0, submitted=True):
    mark = Mark("attend-check", False, score, 8.0, None, False)
    when = datetime(2026, 3, 6, 12)
    return Sheet(student, "", "", "", "", submitted, when, penalty, 0.0, (mark,))


COLUMNS = [
    Column(
        "03_attention",
        "Attention (98765)",
        8.0,
        {
            "jdoe": sheet("jdoe", 7.5),
            "obrien": sheet("obrien", 2 / 3),
            "wang": sheet("wang", 5.0, penalty=0.5),
            "evil": sheet("evil", 8.0, submitted=False),
        },
    )
]


def rows_of(text):
    assert text.startswith("\ufeff")
    return list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


def test_canvas_has_its_five_columns_and_a_row_of_points():
    rows = rows_of(canvas(STUDENTS, COLUMNS))
    assert rows[0][:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert rows[0][5] == "Attention (98765)"
    assert rows[1][0].strip() == "Points Possible"
    assert rows[1][5] == "8"
    assert rows[2] == ["Doe, Jane", "123", "S1", "jdoe", "A", "7.5"]
    assert all(len(row) == len(rows[0]) for row in rows)


def test_moodle_has_a_column_to_map_users_by_and_one_an_assignment():
    rows = rows_of(moodle(STUDENTS, COLUMNS))
    assert rows[0][2:] == ["ID number", "Email address", "Assignment: Attention (98765) (Real)"]
    assert rows[1][2:] == ["jdoe", "Jane.Doe@uni.example", "7.5"]


def test_names_with_commas_quotes_and_other_scripts_come_back_as_they_were():
    rows = rows_of(canvas(STUDENTS, COLUMNS))
    assert [row[0] for row in rows[3:5]] == ['O\'Brien, III, Seán "Jr."', "王, 小明"]
    assert rows_of(moodle(STUDENTS, COLUMNS))[3][:2] == ["小明", "王"]


def test_late_penalties_are_taken_off_and_missing_work_is_blank_or_zero():
    scores = {row[3]: row[5] for row in rows_of(canvas(STUDENTS, COLUMNS))[2:]}
    assert scores == {"jdoe": "7.5", "obrien": "0.667", "wang": "4.5", "evil": ""}
    zeros = {row[3]: row[5] for row in rows_of(canvas(STUDENTS, COLUMNS, "0"))[2:]}
    assert zeros["evil"] == "0"


@pytest.mark.parametrize("write", [canvas, moodle, plain_csv])
def test_a_submission_that_could_not_be_graded_is_blank_and_never_zero(write):
    columns = [replace(COLUMNS[0], unread=frozenset({"evil"}))]
    score = rows_of(plain_csv([], columns))[0].index("score") if write is plain_csv else -1
    assert rows_of(write(STUDENTS, columns, "0"))[-1][score] == ""
    assert rows_of(write(STUDENTS, COLUMNS, "0"))[-1][score] == "0"


@pytest.mark.parametrize("write", [canvas, moodle, plain_csv])
def test_no_cell_is_a_formula(write):
    for row in rows_of(write(STUDENTS, COLUMNS)):
        for cell in row:
            assert not cell.startswith(FORMULA), cell


@given(st.text())
def test_any_text_is_made_harmless_and_nothing_else_is_changed(text):
    safe = harmless(text)
    assert not safe.lstrip(" ").startswith(FORMULA)
    assert safe.replace("'", "") == text.replace("\x00", "").replace("'", "")


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=5))
def test_any_names_can_be_read_back(names):
    students = [Student(f"s{n}", name, "X") for n, name in enumerate(names)]
    back = [row[0] for row in rows_of(moodle(students, COLUMNS))[1:]]
    assert back == [harmless(name) for name in names]


def test_the_plain_file_says_everything_about_everyone():
    rows = rows_of(plain_csv(STUDENTS, COLUMNS))
    first = dict(zip(rows[0], rows[3], strict=True))
    assert first["student_id"] == "wang"
    assert (first["raw_score"], first["late_penalty"], first["score"]) == ("5", "0.5", "4.5")
    assert first["max_score"] == "8"


def test_points_of_each_exercise_are_a_column_each():
    waits = Mark("reversal-map", True, 0.0, 1.0, None, True)
    marked = replace(waits, score=0.5, manual=0.5, waiting=False)
    first, second = sheet("jdoe", 7.5), sheet("wang", 5.0, penalty=0.5)
    sheets = {
        "jdoe": replace(first, marks=(*first.marks, waits)),
        "wang": replace(second, marks=(*second.marks, marked)),
    }
    column = replace(COLUMNS[0], sheets=sheets, unread=frozenset({"evil"}))
    rows = rows_of(by_exercise(STUDENTS, [column], missing="0"))
    assert rows[0][4:] == ["03_attention: attend (8)", "03_attention: reversal-map (1)", "waiting"]
    points = {row[0]: row[4:] for row in rows[1:]}
    assert points["jdoe"] == ["7.5", "", "1"]  # what waits is blank, and counted
    assert points["wang"] == ["5", "0.5", "0"]  # nothing is taken off a single exercise
    assert points["obrien"] == ["0", "0", "0"] and points["evil"] == ["", "", "0"]
    assert rows[-1][1].startswith("'@SUM")
    assert "exercises" in EXPORTERS


@pytest.mark.parametrize("name", ["Ann;=1+1", "Ann; @cmd", "Ann;\t+2"])
def test_what_follows_a_semicolon_is_no_formula_either(name):
    assert all(not part.lstrip().startswith(FORMULA) for part in harmless(name).split(";"))
