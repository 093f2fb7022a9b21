"""Moves everything stored under a made-up or mistaken id to the right student.

When the roster is corrected and the class graded again, the same sender gets another id. The old id
would otherwise stay in the gradebook, the report and the export with its own grade.
"""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry, SubmittedAssignment

from autograder.course_files import CourseError, write_atomically
from autograder.grading import archive
from autograder.grading.record import SubmissionRecord
from autograder.intake import HandedIn, Student
from autograder.intake.names import read_name
from autograder.intake.roster import decode
from autograder.intake.submission import Sender
from autograder.intake.text import harmless, plain

WHO_IS_WHO = "who_is_who.csv"
COLUMNS = ("handed_in", "number", "student", "note")
STEPS = ("submitted", "autograded", "feedback")


@dataclass(frozen=True)
class Move:
    """A move of one assignment from one id to another; to nobody if `to` is empty."""

    assignment: str
    student: str
    to: str
    why: str

    def __str__(self) -> str:
        if not self.to:
            return f"{self.student} is removed: {self.why}."
        return f"{self.student} is {self.to}: {self.why}. Grades and marks move there."


def ghosts(
    assignment: str, records: Sequence[SubmissionRecord], handed_in: Sequence[HandedIn]
) -> list[Move]:
    """Moves for ids that handed in nothing now, but whose sender now has another id."""
    now = {one.student for one in handed_in}
    owners: dict[tuple[str, str], tuple[str, str]] = {}
    for one in handed_in:
        for arrival in one.arrivals:
            key = _key(arrival.sender)
            if key is not None:
                owners[key] = (one.student, arrival.sender.name)
    moves = []
    for record in records:
        found = owners.get(_key(_sender(record)) or ("", ""))
        if found is None or record.student in now:
            continue
        if found[0] != record.student and _is_told(record):
            moves.append(Move(assignment, record.student, found[0], f"both handed in {found[1]}"))
    return moves


def _sender(record: SubmissionRecord) -> Sender:
    """Records of an earlier version have only the name of the file."""
    if record.sender.name:
        return record.sender
    outer, _, inner = record.source_name.partition("/")
    clue = read_name(outer, is_file=not inner or outer.lower().endswith(".zip"))
    return Sender(clue.system, clue.user, clue.attachment, outer)


def _key(sender: Sender) -> tuple[str, str] | None:
    """What identifies a sender: the learning system's number, or else the outermost name."""
    if sender.user:
        return sender.system, sender.user
    return ("", sender.name) if sender.name else None


def _is_told(record: SubmissionRecord) -> bool:
    """Whether the name identifies anybody: `03_attention.ipynb` could be from anybody."""
    sender = _sender(record)
    return bool(sender.user) or plain(record.student) in plain(sender.name)


def apply(course: Path, url: str, moves: Sequence[Move], roster: Collection[str] = ()) -> None:
    """Move gradebook entries, records and folders; ids with nothing left leave the gradebook."""
    for move in moves:
        with Gradebook(url) as gradebook:
            _move_submission(gradebook, move)
            if move.student not in roster:
                _forget_if_empty(gradebook, move.student)
        _move_record(course, move)
        _move_folders(course, move)


def _move_submission(gradebook: Gradebook, move: Move) -> None:
    try:
        old = gradebook.find_submission(move.assignment, move.student)
    except MissingEntry:
        return
    if not move.to:
        gradebook.remove_submission(move.assignment, move.student)
        return
    gradebook.update_or_create_student(move.to)
    try:
        new = gradebook.find_submission(move.assignment, move.to)
    except MissingEntry:
        old.student = gradebook.find_student(move.to)
        gradebook.db.commit()
        return
    _copy_marks(old, new)
    gradebook.db.commit()
    gradebook.remove_submission(move.assignment, move.student)


def _copy_marks(old: SubmittedAssignment, new: SubmittedAssignment) -> None:
    """Copy marks and comments by hand, unless the right student has some."""
    for before, after in zip(_by_name(old), _by_name(new), strict=True):
        grades = {grade.cell_id: grade for grade in after.grades}
        for grade in before.grades:
            other = grades.get(grade.cell_id)
            if other is not None and other.manual_score is None and grade.manual_score is not None:
                other.manual_score = grade.manual_score
                other.extra_credit = grade.extra_credit
                other.needs_manual_grade = True  # given for another file: look at it again
        comments = {comment.cell_id: comment for comment in after.comments}
        for comment in before.comments:
            also = comments.get(comment.cell_id)
            if also is not None and not also.manual_comment:
                also.manual_comment = comment.manual_comment


def _by_name(submission: SubmittedAssignment) -> list:
    return sorted(submission.notebooks, key=lambda notebook: notebook.name)


def _forget_if_empty(gradebook: Gradebook, student: str) -> None:
    try:
        if not gradebook.find_student(student).submissions:
            gradebook.remove_student(student)
    except MissingEntry:
        return


def _move_record(course: Path, move: Move) -> None:
    old = archive.read_record(course, move.assignment, move.student)
    archive.record_path(course, move.assignment, move.student).unlink(missing_ok=True)
    if old is None or not move.to:
        return
    if archive.read_record(course, move.assignment, move.to) is None:
        archive.write_record(course, replace(old, student=move.to))


def _move_folders(course: Path, move: Move) -> None:
    for step in STEPS:
        old = course / step / archive.folder_name(move.student)
        target = course / step / archive.folder_name(move.to) if move.to else None
        place = old / move.assignment
        if not place.is_dir():
            continue
        if target is None or step == "feedback" or (target / move.assignment).exists():
            shutil.rmtree(place)
        else:
            target.mkdir(parents=True, exist_ok=True)
            place.rename(target / move.assignment)
        if not any(old.iterdir()):
            old.rmdir()


# ---- who matches whom, before anything is graded ----


@dataclass(frozen=True)
class Match:
    """One sender: their name in the system, and the student they are matched to."""

    handed_in: str
    number: str
    student: str
    name: str  # on the roster; empty if they are not on it
    doubt: str

    @property
    def sure(self) -> bool:
        return bool(self.name) and not self.doubt


def matches(handed_in: Sequence[HandedIn], roster: Sequence[Student]) -> list[Match]:
    """One line per sender, the doubtful ones first."""
    names = {person.id: person.full_name for person in roster}
    found: dict[tuple[str, str], Match] = {}
    for one in handed_in:
        for arrival in one.arrivals:
            sender = arrival.sender
            doubt = next((flag for flag in arrival.flags if "who" in flag or "roster" in flag), "")
            match = Match(sender.name, sender.user, one.student, names.get(one.student, ""), doubt)
            found.setdefault((sender.user or sender.name, one.student), match)
    return sorted(found.values(), key=lambda match: (match.sure, match.student))


def write_who_is_who(course: Path, unsure: Sequence[Match]) -> list[str]:
    """Add a line to who_is_who.csv for each sender who has none; returns their outermost names."""
    path = course / WHO_IS_WHO
    before = path.read_bytes() if path.is_file() else b""
    text = decode(before).replace("\0", "")
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    known = {cell for row in csv.reader(io.StringIO(text), delimiter=delimiter) for cell in row}
    new = [m for m in unsure if harmless(m.handed_in) not in known]
    if not new:
        return []
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    if not before:
        writer.writerow(COLUMNS)
    for match in new:
        note = match.doubt or "not on the roster"
        writer.writerow([harmless(match.handed_in), match.number, "", harmless(note)])
    gap = b"" if not before or before.endswith(b"\n") else b"\n"
    write_atomically(path, before + gap + stream.getvalue().encode())
    return [match.handed_in for match in new]


def strangers(url: str, roster: Sequence[Student]) -> list[str]:
    """Ids that are in the gradebook but not on the roster."""
    known = {person.id for person in roster}
    with Gradebook(url) as gradebook:
        return sorted(s.id for s in gradebook.students if s.id not in known)


def moves_of(url: str, student: str, to: str) -> list[Move]:
    """Moves of everything under an id to another id or, if that is empty, out of the gradebook."""
    why = "as you asked"
    with Gradebook(url) as gradebook:
        try:
            found = gradebook.find_student(student)
        except MissingEntry:
            raise CourseError(f"The gradebook has no student called {student}.") from None
        return [Move(s.assignment.name, student, to, why) for s in found.submissions]


def forget(url: str, student: str) -> None:
    """Remove an id without submissions from the gradebook."""
    with Gradebook(url) as gradebook:
        _forget_if_empty(gradebook, student)
