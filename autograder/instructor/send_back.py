"""Returns feedback: a zip in the form that each learning system takes, and a list of the rest.

The rules are those of the systems' own sources, as published:

- Canvas (instructure/canvas-lms, `infer_comment_context_from_filename` in the model of assignments)
  splits a name at underscores and takes the first two parts that are numbers for user and
  attachment, or after `anon` the two parts that follow. It ignores a name whose last part begins
  with "link", and a number that is not a file of the student's present submission. The rest of the
  name is free, so we make our own: a student's own file name could mislead it.
- Moodle (moodle/moodle, `is_valid_filename_for_import` in `mod/assign/feedback/file`) splits a
  folder's name at its first four underscores into name, participant, kind and plug-in, so that the
  name must have none. Before version 4.1 there must be an underscore at the end too.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.course_files import write_atomically, write_for_people
from autograder.grading.record import SubmissionRecord
from autograder.instructor.course import Course
from autograder.intake import Student
from autograder.intake.submission import NOBODY, Sender
from autograder.intake.text import NOT_IN_FOLDERS, harmless

FOLDER = "send_back"
ANONYMOUS = re.compile(r"(?:LATE_)?(anon_[^_]+)_")
UPLOAD = {
    "canvas": "the assignment's page, Upload Submissions",
    "moodle": "View all submissions, Upload multiple feedback files in a zip",
}


@dataclass(frozen=True)
class Zip:
    """A zip to upload, with its system and its number of pages."""

    system: str
    path: Path
    pages: int


@dataclass(frozen=True)
class SentBack:
    """Everything that was written: the zips, and the list of students whom no zip reaches."""

    zips: tuple[Zip, ...]
    by_hand: Path | None
    unreached: int


def name_in_zip(sender: Sender, assignment: str) -> str:
    """The place of a student's page in the zip for their system; empty if it can't have one."""
    page = f"{assignment}_feedback.html"
    if sender.system == "canvas" and sender.attachment:
        who = _canvas(sender)
        return f"{who}_{sender.attachment}_{page}" if who else ""
    if sender.system == "moodle" and sender.user:
        who = _free(sender.name.split(f"_{sender.user}_assignsubmission_")[0])
        return f"{who}_{sender.user}_assignfeedback_file_/{page}"
    return ""


def _free(name: str) -> str:
    """A person's name as a part of a file's name: no separator, on any system, and no underscore."""
    return NOT_IN_FOLDERS.sub(" ", name.replace("_", " ")).strip(" .") or "student"


def _canvas(sender: Sender) -> str:
    """Name and number of a student, or the number of one without a name, as Canvas reads them back."""
    if not sender.user:
        found = ANONYMOUS.match(sender.name)
        return found[1] if found else ""
    who = _free(sender.name.partition(f"_{sender.user}_")[0].removesuffix("_LATE"))
    who = who.replace(" ", "")
    # a name made of digits would be taken for the user's number
    return f"{who if who and not who.isdecimal() else 'student'}_{sender.user}"


def pack(
    course: Course,
    assignment: str,
    pages: Mapping[str, Path],
    records: Mapping[str, SubmissionRecord],
    people: Mapping[str, Student],
) -> SentBack:
    """Write zips of all pages, and a list with the pages of the students whom no zip reaches."""
    inside: dict[str, dict[str, Path]] = {}
    left: list[str] = []
    for student, path in sorted(pages.items()):
        sender = records[student].sender if student in records else NOBODY
        name = name_in_zip(sender, assignment)
        if name and name not in inside.get(sender.system, ()):
            inside.setdefault(sender.system, {})[name] = path
        else:
            left.append(student)
    folder = course.root / FOLDER
    zips = []
    for system, files in sorted(inside.items()):
        target = folder / f"{assignment}_{system}.zip"
        write_atomically(target, _zip(files))
        zips.append(Zip(system, target, len(files)))
    by_hand = folder / f"{assignment}_by_hand.csv" if left else None
    if by_hand is not None:
        rows = [_row(student, pages[student], records, people) for student in left]
        write_for_people(by_hand, _table(rows))
    return SentBack(tuple(zips), by_hand, len(left))


def _zip(files: Mapping[str, Path]) -> bytes:
    """The same pages give the same bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in sorted(files.items()):
            entry = zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, path.read_bytes())
    return stream.getvalue()


def _row(
    student: str,
    page: Path,
    records: Mapping[str, SubmissionRecord],
    people: Mapping[str, Student],
) -> list[str]:
    person = people.get(student) or Student(student)
    came_by = records[student].sender.system if student in records else ""
    return [student, person.full_name, person.email, came_by, str(page)]


def _table(rows: Sequence[Sequence[str]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(["student_id", "name", "email", "handed_in_by", "page"])
    writer.writerows([harmless(cell) for cell in row] for row in rows)
    return "\ufeff" + stream.getvalue()
