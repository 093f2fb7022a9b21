"""Times that no file contains: `times.csv` in a course directory, and the dates in course.toml.

    student,section,assignment,handed_in_at,due_at,excused,note
    s004,,03_attention,2027-03-06 09:30,,,
    s007,,03_attention,,2027-03-12 18:00,,ill
    ,Group B,03_attention,,2027-03-08 18:00,,
    s009,,,,,yes,all term

A line is about a student or a section, and about one assignment or, if that is blank, all. A
student's own line overrides the section's, which overrides the course's due date. Excused students
lose nothing for late days, and get no 0 if they hand in nothing.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from autograder import choices
from autograder.course_files import CourseError, write_atomically
from autograder.intake import read_roster
from autograder.intake.roster import decode, encoding_of
from autograder.intake.text import YEARS

FILE = "times.csv"
ROSTER = "roster.csv"
COLUMNS = ("student", "section", "assignment", "handed_in_at", "due_at", "excused", "note")
YES, NO = ("yes", "y", "true", "1", "x", "excused"), ("", "no", "n", "false", "0")


@dataclass(frozen=True)
class Line:
    """One line of the file."""

    number: int
    student: str
    section: str
    assignment: str
    handed_in: datetime | None
    due: datetime | None
    excused: bool

    @property
    def decides(self) -> bool:
        return bool(self.handed_in or self.due or self.excused)


@dataclass(frozen=True)
class Times:
    """What is known about one submission's times."""

    handed_in: datetime | None = None
    due: datetime | None = None
    excused: bool = False


@dataclass(frozen=True)
class Timetable:
    """All times of a course."""

    lines: tuple[Line, ...]
    chosen: choices.Choices
    sections: Mapping[str, str]  # for each student on the roster

    def due(self, assignment: str) -> datetime | None:
        """The due date of the course, if it has one here."""
        return self.chosen.due.get(assignment)

    def of(self, student: str, assignment: str) -> Times:
        section = self.sections.get(student, "")
        own = self._matching(lambda line: line.student == student, assignment)
        others = self._matching(lambda line: line.section and line.section == section, assignment)
        by_section = self.chosen.section_due.get(section, {}).get(assignment)
        lines = [*own, *others]
        return Times(
            next((line.handed_in for line in own if line.handed_in), None),
            next((line.due for line in lines if line.due), by_section),
            any(line.excused for line in lines),
        )

    def _matching(self, wanted, assignment: str) -> list[Line]:
        """Lines about one assignment come before those about all."""
        found = [line for line in self.lines if wanted(line)]
        named = [line for line in found if line.assignment == assignment]
        return named + [line for line in found if not line.assignment]

    def problems(self, students: Iterable[str]) -> list[str]:
        """Lines that match nobody: a mistyped name must not be ignored silently."""
        known = {*students, *self.sections}
        sections = {*self.sections.values()} - {""}
        found = [
            f"{FILE}, line {line.number}: neither gradebook nor roster has a student {line.student}."
            for line in self.lines
            if line.student and line.student not in known
        ]
        found += [
            f"{FILE}, line {line.number}: the roster has no section {line.section}."
            for line in self.lines
            if line.section and line.section not in sections
        ]
        found += [
            f"{choices.FILE}: the roster has no section {name}."
            for name in self.chosen.section_due
            if name not in sections
        ]
        return found

    def undecided(self, assignment: str) -> list[str]:
        """Students with a line that the instructor still has to complete."""
        waiting = {
            line.student
            for line in self.lines
            if line.student and line.assignment == assignment and not line.decides
        }
        decided = {
            line.student
            for line in self.lines
            if line.decides and line.assignment in ("", assignment)
        }
        return sorted(waiting - decided)


def timetable(course: Path) -> Timetable:
    """The times of a course. Raises CourseError with the line of whatever can't be read."""
    chosen = choices.read(course)
    roster = course / ROSTER
    people = read_roster(roster) if roster.is_file() else []
    lines = _lines(course / FILE, chosen)
    return Timetable(tuple(lines), chosen, {person.id: person.section for person in people})


def _lines(path: Path, chosen: choices.Choices) -> list[Line]:
    rows = _rows(path)
    if not rows:
        return []
    titles = [title.strip().casefold().replace(" ", "_") for title in rows[0]]
    unknown = [title for title in titles if title and title not in COLUMNS]
    if unknown or not {"student", "section"} & set(titles):
        raise CourseError(
            f"{path}: the first line should contain the column titles, which may be {', '.join(COLUMNS)}. "
            f"It has {', '.join(rows[0])}."
        )
    found = []
    for number, row in enumerate(rows[1:], start=2):
        cells = {title: cell.strip() for title, cell in zip(titles, row, strict=False)}
        if any(cells.values()):
            found.append(_line(path, number, cells, chosen))
    return found


def _line(path: Path, number: int, cells: dict[str, str], chosen: choices.Choices) -> Line:
    where = f"{path}, line {number}"
    student, section = cells.get("student", ""), cells.get("section", "")
    assignment = cells.get("assignment", "")
    if bool(student) == bool(section):
        raise CourseError(f"{where}: name either a student or a section.")
    if assignment and assignment not in chosen.names:
        raise CourseError(
            f"{where}: there is no assignment {assignment}. There are: {', '.join(chosen.names)}."
        )
    excused = cells.get("excused", "").casefold()
    if excused not in (*YES, *NO):
        raise CourseError(f"{where}: `excused` is {excused!r}. Write yes, or leave it blank.")
    if section and cells.get("handed_in_at"):
        raise CourseError(f"{where}: `handed_in_at` is for one student, not for a section.")
    return Line(
        number,
        student,
        section,
        assignment,
        _moment(where, "handed_in_at", cells, chosen.zone),
        _moment(where, "due_at", cells, chosen.zone),
        excused in YES,
    )


def _moment(where: str, name: str, cells: dict[str, str], zone: ZoneInfo | None) -> datetime | None:
    text = cells.get(name, "")
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise CourseError(f"{where}: `{name}` is {text!r}. Write it as 2027-03-05 18:00.") from None
    if found.year not in YEARS:
        raise CourseError(f"{where}: `{name}` is {text!r}. The year can't be right.")
    if len(text) <= len("2027-03-05"):
        raise CourseError(f"{where}: `{name}` has no time of day. Write {text} 18:00.")
    if found.tzinfo is None:
        if zone is None:
            raise CourseError(
                f"{where}: `{name}` has no time zone. Write {text}+00:00 for UTC, or set `timezone` "
                f"in {choices.FILE}."
            )
        # when the clocks change, the student gets the longer time
        found = choices.in_zone(found, zone, min if name == "handed_in_at" else max)
    return found.astimezone(UTC)


def _rows(path: Path) -> list[list[str]]:
    if not path.is_file():
        return []
    try:
        text = decode(path.read_bytes()).replace("\0", "")
        return list(csv.reader(io.StringIO(text), delimiter=_delimiter(text)))
    except (OSError, csv.Error) as problem:
        raise CourseError(f"{path} can't be read as CSV: {problem}.") from None


def add_to_decide(course: Path, assignment: str, students: Iterable[str], note: str) -> list[str]:
    """Add a blank line to times.csv for each student who has none; returns those added.

    What is in the file stays byte by byte.
    """
    there = timetable(course)
    known = {line.student for line in there.lines if line.assignment in ("", assignment)}
    new = sorted(set(students) - known)
    if not new:
        return []
    path = course / FILE
    before = path.read_bytes() if path.is_file() else b""
    rows = _rows(path)
    titles = [t.strip().casefold().replace(" ", "_") for t in rows[0]] if rows else list(COLUMNS)
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=_delimiter(decode(before)), lineterminator="\n")
    if not rows:
        writer.writerow(titles)
    for student in new:
        values = {"student": student, "assignment": assignment, "note": note}
        writer.writerow([values.get(title, "") for title in titles])
    gap = "" if not before or decode(before).endswith("\n") else "\n"
    added = (gap + stream.getvalue()).encode(encoding_of(before), "replace")
    write_atomically(path, before + added)
    return new


def _delimiter(text: str) -> str:
    return max(",;\t", key=text.partition("\n")[0].count)
