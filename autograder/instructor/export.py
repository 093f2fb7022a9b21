"""Grades in the form that Canvas, Moodle and spreadsheets import."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograder.instructor.marks import Sheet
from autograder.intake import Student

# A spreadsheet takes a cell that starts with one of these for a formula, and runs it.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


@dataclass(frozen=True)
class Column:
    """One assignment: its name there, what the LMS calls it, its points and its sheets."""

    assignment: str
    title: str
    points: float
    sheets: Mapping[str, Sheet]


def harmless(value: str) -> str:
    """A text that no spreadsheet runs: a formula gets an apostrophe in front."""
    text = value.replace("\x00", "")
    return f"'{text}" if text.lstrip(" ").startswith(FORMULA) else text


def canvas(students: Sequence[Student], columns: Sequence[Column], missing: str = "") -> str:
    """Canvas's gradebook file: five columns that say who, one an assignment, points in row two."""
    titles = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    rows = [titles + [harmless(column.title) for column in columns]]
    rows.append(["    Points Possible", "", "", "", "", *[number(c.points) for c in columns]])
    for student in students:
        who = [student.sortable_name, student.lms_id, student.sis_id, student.id, student.section]
        rows.append([harmless(part) for part in who] + _scores(student, columns, missing))
    return _csv(rows)


def moodle(students: Sequence[Student], columns: Sequence[Column], missing: str = "") -> str:
    """Moodle's grade file: map 'ID number' or 'Email address', then each assignment's column."""
    titles = ["First name", "Last name", "ID number", "Email address"]
    rows = [titles + [harmless(f"Assignment: {column.title} (Real)") for column in columns]]
    for student in students:
        who = [student.first_name, student.last_name, student.id, student.email]
        rows.append([harmless(part) for part in who] + _scores(student, columns, missing))
    return _csv(rows)


def plain_csv(students: Sequence[Student], columns: Sequence[Column], missing: str = "") -> str:
    """A line for each student and assignment, with everything the gradebook knows."""
    rows = [
        [
            "assignment", "student_id", "last_name", "first_name", "email", "submitted",
            "seconds_late", "raw_score", "late_penalty", "score", "max_score", "waiting",
        ]
    ]  # fmt: skip
    for column in columns:
        for student in students:
            sheet = column.sheets.get(student.id)
            handed_in = sheet is not None and sheet.submitted
            who = [column.assignment, student.id, student.last_name, student.first_name]
            values = [
                sheet.timestamp.isoformat(sep=" ") if handed_in and sheet.timestamp else "",
                number(sheet.seconds_late) if handed_in else "",
                number(sheet.raw) if handed_in else missing,
                number(sheet.penalty) if handed_in else "",
                number(sheet.score) if handed_in else missing,
                number(column.points),
                str(sheet.waiting) if handed_in else "",
            ]
            rows.append([harmless(part) for part in (*who, student.email)] + values)
    return _csv(rows)


FORMATS = {"canvas": canvas, "moodle": moodle, "csv": plain_csv}


def number(value: float) -> str:
    """Points without noise: 2, 2.5, 2.333."""
    return f"{round(value, 3):g}"


def _scores(student: Student, columns: Sequence[Column], missing: str) -> list[str]:
    sheets = [column.sheets.get(student.id) for column in columns]
    return [number(s.score) if s is not None and s.submitted else missing for s in sheets]


def _csv(rows: list[list[str]]) -> str:
    # The mark at the start makes Excel read UTF-8; Canvas and Moodle skip it.
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\r\n").writerows(rows)
    return "\ufeff" + stream.getvalue()
