"""Reads the list of students from a CSV file, whichever system it came from."""

from __future__ import annotations

import csv
import io
import itertools
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

# Column titles as nbgrader, Canvas, Moodle and Gradescope write them, in small letters.
COLUMNS = {
    "id": ("id", "student_id", "student id", "sis login id", "username", "id number", "sid"),
    "first_name": ("first_name", "first name", "given name", "firstname"),
    "last_name": ("last_name", "last name", "surname", "family name", "lastname"),
    "name": ("name", "student", "full name", "student name"),
    "email": ("email", "email address", "e-mail", "mail"),
    "lms_id": ("lms_user_id", "lms id", "canvas id", "identifier", "participant", "user id"),
    "section": ("section", "sections"),
    "sis_id": ("sis user id", "sis_user_id", "sis id"),
}


class RosterError(ValueError):
    """The roster can't be used; the message says why and what to do."""


@dataclass(frozen=True)
class Student:
    """One line of the roster."""

    id: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms_id: str = ""
    section: str = ""
    sis_id: str = ""

    @property
    def full_name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip() or self.id

    @property
    def sortable_name(self) -> str:
        return ", ".join(part for part in (self.last_name, self.first_name) if part) or self.id


def read_roster(path: Path) -> list[Student]:
    """The students in a roster CSV. Raises RosterError with a sentence for the instructor."""
    path = Path(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise RosterError(f"The roster {path} can't be read: {error.strerror}.") from error
    text = _decode(raw)
    if not text.strip():
        raise RosterError(f"The roster {path} is empty. It needs a line of titles and a line each.")
    delimiter = max(",;\t", key=text.splitlines()[0].count)
    rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    titles = [title.strip().casefold() for title in rows[0]]
    places = {
        field: next((titles.index(title) for title in known if title in titles), None)
        for field, known in COLUMNS.items()
    }
    _mind_canvas(titles, places)
    if places["id"] is None:
        raise RosterError(
            f"The roster {path} has no column for the student's id. Its titles are "
            f"{', '.join(rows[0])}; name one of them 'id'."
        )
    students, lines = [], {}
    for number, row in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in row):
            continue
        student = _student(row, places)
        if _is_points_row(row, student):
            continue
        if not student.id:
            raise RosterError(f"Line {number} of the roster {path} has no student id. Add one.")
        if not is_folder_name(student.id):
            raise RosterError(
                f"Line {number} of the roster {path}: the id {student.id!r} can't be the name of "
                "a folder. Use letters, digits, '-', '_', '.' and '@'."
            )
        if student.id in lines:
            raise RosterError(
                f"The roster {path} has the id {student.id} twice, in lines {lines[student.id]} "
                f"and {number}. Give each student an id of their own."
            )
        lines[student.id] = number
        students.append(student)
    return students


def is_folder_name(text: str) -> bool:
    """True when a text can be one folder's name: no separators, no '..', nothing unprintable."""
    return (
        bool(text)
        and len(text) <= 120
        and text.isprintable()
        and text[0] not in ". "
        and text[-1] != " "
        and not any(mark in text for mark in '/\\:*?"<>|+')
    )


def plain(text: str) -> str:
    """A name without case, accents, spaces and punctuation, for comparing."""
    text = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in text if letter.isalnum())


class Directory:
    """Finds a student by whatever a file name says of them."""

    def __init__(self, students: list[Student]):
        self._found: dict[str, Student | None] = {}
        for student in students:
            self._enter(plain(student.id), student, sure=True)
        for student in students:
            first, last = student.first_name, student.last_name
            for key in (
                student.email,
                student.email.split("@")[0],
                first + last,
                last + first,
                student.sis_id,
            ):
                self._enter(plain(key), student)
        self._by_lms = {plain(student.lms_id): student for student in students if student.lms_id}

    def _enter(self, key: str, student: Student, sure: bool = False) -> None:
        if not key:
            return
        known = self._found.get(key, student)
        if known is not student and (known is None or plain(known.id) != key):
            self._found[key] = None  # two students share it, so it tells nothing
        elif sure or key not in self._found:
            self._found[key] = student

    def find(self, text: str) -> Student | None:
        return self._found.get(plain(text)) if text else None

    def by_lms_id(self, text: str) -> Student | None:
        return self._by_lms.get(plain(text)) if text else None

    def find_within(self, text: str) -> Student | None:
        """The one student of whom a whole word, or two words in a row, of the text speaks."""
        words = [word for word in re.split(r"[\W_]+", text) if word]
        pairs = [a + b for a, b in itertools.pairwise(words)]
        hits = {student.id: student for part in pairs + words if (student := self.find(part))}
        return next(iter(hits.values())) if len(hits) == 1 else None


def _decode(raw: bytes) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", "replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def _mind_canvas(titles: list[str], places: dict[str, int | None]) -> None:
    """In Canvas's own file 'ID' is Canvas's number and the login is the student's id."""
    if "student" in titles and "id" in titles and "sis login id" in titles:
        places["id"], places["lms_id"] = titles.index("sis login id"), titles.index("id")


def _student(row: list[str], places: dict[str, int | None]) -> Student:
    def cell(field: str) -> str:
        place = places[field]
        text = row[place].strip() if place is not None and place < len(row) else ""
        return unicodedata.normalize("NFC", text)

    first, last, name = cell("first_name"), cell("last_name"), cell("name")
    if name and not (first or last):
        last, _, first = (part.strip() for part in name.partition(","))
        if not first and " " in last:
            first, _, last = last.rpartition(" ")
    lms_id = cell("lms_id").removeprefix("Participant").strip()
    return Student(cell("id"), first, last, cell("email"), lms_id, cell("section"), cell("sis_id"))


def _is_points_row(row: list[str], student: Student) -> bool:
    """Canvas has 'Points Possible' and a 'Test Student' among the students."""
    first = row[0].strip().casefold()
    return first.startswith("points possible") or (first == "student, test" and not student.id)
