"""Grades in the form that Canvas, Moodle and spreadsheets import, as plug-ins of nbgrader.

`autograder export --format canvas` uses them, and so can nbgrader's own command:

    nbgrader export --exporter=autograder.nbgrader_parts.exporters.CanvasExport
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.plugins import ExportPlugin
from traitlets import Bool, Dict, Unicode

from autograder import choices
from autograder.course_files import CourseError, write_for_people
from autograder.grading import archive
from autograder.intake import Student, read_roster
from autograder.intake.text import harmless
from autograder.nbgrader_parts.late import refresh_penalties
from autograder.nbgrader_parts.marks import Mark, Sheet, max_score, number, read_sheets
from autograder.nbgrader_parts.times import timetable

ROSTER = "roster.csv"


@dataclass(frozen=True)
class Column:
    """One assignment: its name there, what the LMS calls it, its points and its sheets.

    unread: students who submitted something that could not be graded. Their cells stay blank,
    because a person has to decide. excused: students who get no 0 if they submit nothing.
    """

    assignment: str
    title: str
    points: float
    sheets: Mapping[str, Sheet]
    unread: frozenset[str] = frozenset()
    excused: frozenset[str] = frozenset()

    def missing(self, student: Student, missing: str, excused: str = "") -> str:
        if student.id in self.unread:
            return ""
        return excused if student.id in self.excused else missing


@dataclass(frozen=True)
class Exported:
    """What an export wrote, and how many submissions still have unmarked answers."""

    path: Path
    students: int
    assignments: tuple[str, ...]
    waiting: int


def canvas(students: Sequence[Student], columns: Sequence[Column], missing: str = "") -> str:
    """Canvas's gradebook file: five columns for who, one per assignment, points in row two."""
    titles = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    rows = [titles + [harmless(column.title) for column in columns]]
    rows.append(["    Points Possible", "", "", "", "", *[number(c.points) for c in columns]])
    for student in students:
        who = [student.sortable_name, student.lms_id, student.sis_id, student.id, student.section]
        rows.append([harmless(part) for part in who] + _scores(student, columns, missing, "EX"))
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
    """One line per student and assignment, with everything the gradebook knows."""
    rows = [
        [
            "assignment", "student_id", "last_name", "first_name", "email", "submitted",
            "seconds_late", "raw_score", "late_penalty", "score", "max_score", "waiting",
        ]
    ]  # fmt: skip
    for column in columns:
        for student in students:
            who = [column.assignment, student.id, student.last_name, student.first_name]
            values = _details(
                column, column.sheets.get(student.id), column.missing(student, missing)
            )
            rows.append([harmless(part) for part in (*who, student.email)] + values)
    return _csv(rows)


def by_exercise(students: Sequence[Student], columns: Sequence[Column], missing: str = "") -> str:
    """One line per student, one column per exercise. Unmarked answers are blank."""
    asked = [(column, mark) for column in columns for mark in _exercises_of(column)]
    titles = [
        f"{column.assignment}: {mark.exercise} ({number(mark.max_score)})" for column, mark in asked
    ]
    rows = [["student_id", "last_name", "first_name", "section", *titles, "waiting"]]
    for student in students:
        who = [student.id, student.last_name, student.first_name, student.section]
        sheets = {c.assignment: c.sheets.get(student.id) for c in columns}
        points = [
            _points(column, sheets[column.assignment], mark, column.missing(student, missing))
            for column, mark in asked
        ]
        waiting = sum(sheet.waiting for sheet in sheets.values() if sheet is not None)
        rows.append([harmless(part) for part in who] + points + [str(waiting)])
    return _csv(rows)


def _exercises_of(column: Column) -> list[Mark]:
    """One mark per exercise that anybody has, in the order of the notebook."""
    found: dict[str, Mark] = {}
    for sheet in column.sheets.values():
        for mark in sheet.marks:
            found.setdefault(mark.exercise, mark)
    return list(found.values())


def _points(column: Column, sheet: Sheet | None, asked: Mark, missing: str) -> str:
    if sheet is None or not sheet.submitted:
        return missing
    own = next((mark for mark in sheet.marks if mark.exercise == asked.exercise), None)
    return "" if own is None or own.waiting else number(own.score)


class GradesExport(ExportPlugin):
    """What the exporters share: the class, its columns, and where the file goes.

    Settings go into the course's nbgrader_config.py, for all of them or for one:

        c.GradesExport.titles = {"03_attention": "Attention (98765)"}
    """

    kind = ""
    roster = Unicode("", help="CSV with ids and sections of the LMS (default: roster.csv)").tag(
        config=True
    )
    titles = Dict(help="what the LMS calls an assignment").tag(config=True)
    missing_as_zero = Bool(False, help="give 0 to students who submitted nothing").tag(config=True)
    root = Unicode("", help="the course directory")

    def text(self, students: Sequence[Student], columns: Sequence[Column], missing: str) -> str:
        raise NotImplementedError

    def export(self, gradebook: Gradebook) -> Exported:
        """Write the file, with late penalties as they are now."""
        wanted = [str(name) for name in self.assignment]
        wanted = wanted or [assignment.name for assignment in gradebook.assignments]
        if not wanted:
            raise CourseError("The gradebook has no assignments yet; grade one first.")
        refresh_penalties(gradebook, self.config, wanted, self._root())
        columns = [self._column(gradebook, name) for name in wanted]
        students = self._students(columns)
        table = timetable(self._root())
        columns = [
            replace(
                column,
                excused=frozenset(
                    s.id for s in students if table.of(s.id, column.assignment).excused
                ),
            )
            for column in columns
        ]
        if not students:
            raise CourseError("The class is empty: neither gradebook nor roster has a student.")
        target = Path(self.to) if self.to else self._root() / f"grades_{self.kind}.csv"
        write_for_people(target, self.text(students, columns, "0" if self.missing_as_zero else ""))
        waiting = sum(sheet.waiting > 0 for column in columns for sheet in column.sheets.values())
        return Exported(target, len(students), tuple(wanted), waiting)

    def _column(self, gradebook: Gradebook, name: str) -> Column:
        zone = choices.read(self._root()).zone
        sheets = {sheet.student: sheet for sheet in read_sheets(gradebook, name, zone)}
        records = archive.records(self._root(), name)
        unread = frozenset(record.student for record in records if not record.graded)
        title = self.titles.get(name, name)
        return Column(name, title, max_score(gradebook, name), sheets, unread)

    def _students(self, columns: Sequence[Column]) -> list[Student]:
        """Everyone in the gradebook or on the roster, which knows more; or a selection."""
        found = {
            s.student: Student(s.student, s.first_name, s.last_name, s.email, s.lms_id)
            for column in columns
            for s in column.sheets.values()
        }
        path = Path(self.roster) if self.roster else self._root() / ROSTER
        if self.roster or path.exists():
            found |= {student.id: student for student in read_roster(path)}
        asked = {str(name) for name in self.student}
        chosen = [s for s in found.values() if not asked or s.id in asked]
        return sorted(chosen, key=lambda s: (s.sortable_name, s.id))

    def _root(self) -> Path:
        coursedir = getattr(self.parent, "coursedir", None)  # nbgrader's own command has one
        return Path(self.root or (coursedir.root if coursedir is not None else "."))


class CanvasExport(GradesExport):
    """Grades as Canvas imports them."""

    kind = "canvas"

    def text(self, students: Sequence[Student], columns: Sequence[Column], missing: str) -> str:
        return canvas(students, columns, missing)


class MoodleExport(GradesExport):
    """Grades as Moodle imports them."""

    kind = "moodle"

    def text(self, students: Sequence[Student], columns: Sequence[Column], missing: str) -> str:
        return moodle(students, columns, missing)


class SpreadsheetExport(GradesExport):
    """One line per student and assignment."""

    kind = "csv"

    def text(self, students: Sequence[Student], columns: Sequence[Column], missing: str) -> str:
        return plain_csv(students, columns, missing)


class ExercisesExport(GradesExport):
    """The points of each exercise, before any late penalty."""

    kind = "exercises"

    def text(self, students: Sequence[Student], columns: Sequence[Column], missing: str) -> str:
        return by_exercise(students, columns, missing)


EXPORTERS = {
    kind.kind: kind for kind in (CanvasExport, MoodleExport, SpreadsheetExport, ExercisesExport)
}


def _scores(
    student: Student, columns: Sequence[Column], missing: str, excused: str = ""
) -> list[str]:
    """`excused` is what the system calls work that a student need not hand in."""
    found = [(column, column.sheets.get(student.id)) for column in columns]
    return [
        number(sheet.score)
        if sheet is not None and sheet.submitted
        else column.missing(student, missing, excused)
        for column, sheet in found
    ]


def _details(column: Column, sheet: Sheet | None, missing: str) -> list[str]:
    if sheet is None or not sheet.submitted:
        return ["", "", missing, "", missing, number(column.points), ""]
    return [
        sheet.timestamp.isoformat(sep=" ") if sheet.timestamp else "",
        number(sheet.seconds_late),
        number(sheet.raw),
        number(sheet.penalty),
        number(sheet.score),
        number(column.points),
        str(sheet.waiting),
    ]


def _csv(rows: list[list[str]]) -> str:
    # The mark at the start makes Excel read UTF-8; Canvas and Moodle skip it.
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\r\n").writerows(rows)
    return "\ufeff" + stream.getvalue()
