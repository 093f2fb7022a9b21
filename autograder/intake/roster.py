"""Reads the list of students from a CSV file, whichever system it came from."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.intake.text import clean_name, harmless, is_folder_name, plain

# Column titles as nbgrader, Canvas, Moodle and Gradescope write them, in small letters.
COLUMNS = {
    "id": (
        ("id", "student_id", "student id", "student number", "sis login id", "login id")
        + ("username", "id number", "idnumber", "sid", "roster_identifier")
    ),
    "first_name": ("first_name", "first name", "given name", "firstname"),
    "last_name": ("last_name", "last name", "surname", "family name", "lastname"),
    "name": ("name", "student", "full name", "student name"),
    "email": ("email", "email address", "e-mail", "mail"),
    "lms_id": ("lms_user_id", "lms id", "canvas id", "identifier", "participant", "user id"),
    "section": ("section", "sections"),
    "sis_id": ("sis user id", "sis_user_id", "sis id"),
    "github": ("github_username", "github username", "github", "github name", "github login"),
}


class RosterError(ValueError):
    """The roster can't be used; the message explains why and what to do."""


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
    github: str = ""

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
    # Excel reads such a line, and writes it into some files
    text = re.sub(
        r'^"?sep=.?"?\r?\n', "", decode(raw).replace("\0", ""), flags=re.IGNORECASE
    ).lstrip("\r\n")
    if not text.strip():
        raise RosterError(
            f"The roster {path} is empty. It needs a line of titles and one line per student."
        )
    delimiter = max(",;\t", key=text.splitlines()[0].count)
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    except csv.Error as error:
        raise RosterError(f"The roster {path} is not a CSV file ({error}).") from None
    titles = [clean_name(title).casefold() for title in rows[0]]
    places = {
        field: next((titles.index(title) for title in known if title in titles), None)
        for field, known in COLUMNS.items()
    }
    canvas = _mind_systems(titles, places)
    students = [
        (number, _student(row, places, canvas))
        for number, row in enumerate(rows[1:], start=2)
        if not _is_no_student(row, titles)
    ]
    if not any(student.id for _, student in students):
        students = _with_other_ids(students)
    if places["id"] is None and not any(student.id for _, student in students):
        raise RosterError(
            f"The roster {path} has no column for the student's id. Its titles are "
            f"{', '.join(rows[0])}; name one of them 'id'."
        )
    _check_ids(students, path)
    return [student for _, student in students]


def read_settled(path: Path) -> dict[str, str]:
    """Who handed in what, as the instructor entered it: number or outermost name -> student id.

    Lines without a student are not decided yet.
    """
    try:
        text = decode(path.read_bytes())
        delimiter = max(",;\t", key=text.partition("\n")[0].count)
        rows = list(csv.DictReader(io.StringIO(text.replace("\0", "")), delimiter=delimiter))
    except (OSError, csv.Error) as error:
        raise RosterError(f"{path} can't be read: {error}.") from None
    found = {}
    for number, row in enumerate(rows, start=2):
        if not {"handed_in", "student"} <= set(row):
            raise RosterError(f"{path} should have the columns handed_in, number and student.")
        student = clean_name(row["student"] or "")
        if not student:
            continue
        if not is_folder_name(student):
            raise RosterError(f"Line {number} of {path}: {student!r} can't be a student's id.")
        key = clean_name(row.get("number") or "") or clean_name(row["handed_in"] or "")
        found[key] = student
    return found


def _check_ids(students: list[tuple[int, Student]], path: Path) -> None:
    lines: dict[str, tuple[int, Student]] = {}
    for number, student in students:
        if not student.id:
            raise RosterError(f"Line {number} of the roster {path} has no student id. Add one.")
        if not is_folder_name(student.id):
            raise RosterError(
                f"Line {number} of the roster {path}: the id {student.id!r} can't be the name of "
                "a folder. Use at most 120 letters, digits, '-', '_', '.' and '@'."
            )
        if student.id in lines:
            first, other = lines[student.id]
            remedy = (
                "If this is one person in two sections, keep the line with the section whose due "
                "dates count."
                if replace(student, section="") == replace(other, section="")
                else "Give each student another id."
            )
            raise RosterError(
                f"The roster {path} has the id {student.id} twice, in lines {first} and {number}. "
                f"{remedy}"
            )
        lines[student.id] = number, student


class Directory:
    """Finds a student by whatever a file name contains about them."""

    def __init__(self, students: list[Student], settled: Mapping[str, str] | None = None):
        self._settled = settled or {}
        self._by_id = {student.id: student for student in students}
        self._found = _unshared((plain(student.id), student) for student in students)
        for student in students:
            first, last = student.first_name, student.last_name
            for key in (
                student.email,
                student.email.split("@")[0],
                first + last,
                last + first,
                student.sis_id,
                student.github,
            ):
                self._enter(plain(key), student)
        self._by_lms = _unshared((plain(student.lms_id), student) for student in students)

    def __len__(self) -> int:
        return len(self._by_id)

    def has_id(self, text: str) -> bool:
        return text in self._by_id

    def _enter(self, key: str, student: Student) -> None:
        known = self._found.get(key, student)
        if known is not student and (known is None or plain(known.id) != key):
            self._found[key] = None  # two students share it, so it identifies neither
        elif key:
            self._found.setdefault(key, student)

    def find(self, text: str) -> Student | None:
        """The student by an id as it is, or by an id or name without case and punctuation."""
        if not text:
            return None
        return self._by_id.get(text) or self._found.get(plain(text))

    def by_lms_id(self, text: str) -> Student | None:
        return self._by_lms.get(plain(text)) if text else None

    def settled(self, outer: str, user: str) -> Student | None:
        """The student that the instructor entered for this outermost name or system number."""
        student = self._settled.get(user) if user else None
        # as it is, or as it was written for a spreadsheet
        student = student or self._settled.get(outer) or self._settled.get(harmless(outer))
        if not student:
            return None
        return self._by_id.get(student, Student(student))

    def by_login(self, folder: str) -> Student | None:
        """The student by the login at the end of a GitHub Classroom folder."""
        words = folder.split("-")
        ends = ("-".join(words[start:]) for start in range(1, len(words)))
        return next(filter(None, map(self.find, ends)), None)

    def find_within(self, text: str) -> Student | None:
        """The one student whose name or id is in the text, as one whole word or two in a row."""
        words = [word for word in re.split(r"[\W_]+", text) if word]
        pairs = [a + b for a, b in itertools.pairwise(words)]
        hits = {student.id: student for part in pairs + words if (student := self.find(part))}
        return next(iter(hits.values())) if len(hits) == 1 else None


def _unshared(keys: Iterable[tuple[str, Student]]) -> dict[str, Student | None]:
    """Who each key identifies: None where two students share it."""
    found: dict[str, Student | None] = {}
    for key, student in keys:
        if key:
            found[key] = None if key in found else student
    return found


def decode(raw: bytes) -> str:
    """The text of a CSV, in whichever encoding a spreadsheet saved it."""
    return raw.decode(encoding_of(raw), "replace").removeprefix("\ufeff")


def encoding_of(raw: bytes) -> str:
    """How a spreadsheet saved a CSV. A name is first an ASCII letter in the line of titles."""
    if raw.startswith(b"\xff\xfe") or (raw[1:2] == b"\0" and raw[:1] != b"\0"):
        return "utf-16-le"
    if raw.startswith(b"\xfe\xff") or (raw[:1] == b"\0" and raw[1:2] != b"\0"):
        return "utf-16-be"
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _mind_systems(titles: list[str], places: dict[str, int | None]) -> bool:
    """In Canvas, 'ID' is its own number and the login is the id; in GitHub, 'identifier' is the id.

    True for Canvas's file.
    """
    canvas = "id" in titles and ("student" in titles or "sis user id" in titles)
    if "id" in titles and ("sis login id" in titles or "sis user id" in titles):
        places["lms_id"] = titles.index("id")
        places["id"] = titles.index("sis login id") if "sis login id" in titles else places["id"]
    elif "student" in titles and "id" in titles and "section" in titles:
        places["lms_id"] = places["id"]
    if places["github"] is not None and places["id"] is None and "identifier" in titles:
        places["id"], places["lms_id"] = titles.index("identifier"), None
    return canvas


def _student(row: list[str], places: dict[str, int | None], canvas: bool) -> Student:
    def cell(field: str) -> str:
        place = places[field]
        text = clean_name(row[place]) if place is not None and place < len(row) else ""
        # nbgrader's pages show names as HTML, and students choose theirs in some systems.
        return text.replace("<", "").replace(">", "")

    first, last, name = cell("first_name"), cell("last_name"), cell("name")
    if name and not (first or last):
        last, _, first = (part.strip() for part in name.partition(","))
        if not first and " " in last:
            first, _, last = last.rpartition(" ")
    lms_id = cell("lms_id").removeprefix("Participant").strip()
    return Student(
        cell("id") or (lms_id if canvas else ""),
        first,
        last,
        cell("email"),
        lms_id,
        cell("section"),
        cell("sis_id"),
        cell("github"),
    )


def _with_other_ids(students: list[tuple[int, Student]]) -> list[tuple[int, Student]]:
    """Moodle's list of participants may have no id; use the address, shortened if possible."""
    short = [student.email.split("@")[0] for _, student in students]
    whole = len(set(short)) < len(short)
    return [
        (number, replace(student, id=student.email if whole else name))
        for (number, student), name in zip(students, short, strict=True)
    ]


def _is_no_student(row: list[str], titles: list[str]) -> bool:
    """Blank lines, and Canvas's lines that are not students: points, posting, a test student."""
    cells = [clean_name(cell).casefold() for cell in row]
    if not any(cells):
        return True
    if "id" not in titles:
        return False
    name = " ".join(cells[: titles.index("id")]).strip()
    if name.startswith("points possible") or name in ("student, test", "student test"):
        return True
    return not name and any(cell.startswith("manual posting") for cell in cells)
