"""Finds out from a file's name which notebook it is and who handed it in."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePosixPath

from dateutil import parser as dates

from autograder.intake.roster import Directory, is_folder_name

CANVAS = re.compile(r"^(?P<name>[^_]+)(?P<late>_LATE)?_(?P<lms>\d+)_(?:text_)?\d{3,}_(?P<file>.+)$")
CANVAS_ANONYMOUS = re.compile(r"^(?P<name>anon_[A-Za-z0-9]+)(?P<late>_LATE)?_\d+_(?P<file>.+)$")
MOODLE = re.compile(
    r"^(?P<name>.+?)_(?P<lms>\d+)_assignsubmission_(?:file|onlinetext)_?(?P<file>.*)$"
)
GRADESCOPE = re.compile(r"^submission_(?P<number>\d+)$")
NBGRADER = re.compile(r"^(?P<name>[^+]+)\+(?P<file>[^+]+)\+(?P<time>[^+]+?)(\+.*)?$")

COPY_NUMBER = re.compile(r"(?:\((\d{1,3})\)|[-_ ](\d{1,2}))\s*$")
# Words that a copy or a version adds to a file name, in the languages Colab and systems use.
NOISE = frozenset(
    word
    for line in (
        "copy copie kopie copia cópia kópia kopi kopio copies of von de di da af av a the by my",
        "final last latest new old done solved solution solutions submission submitted submit late",
        "answer answers answered version edited fixed corrected completed complete draft backup",
        "colab jupyter notebook homework hw assignment lab week download v1 v2 v3 v4 v5",
    )
    for word in line.split()
)
CONTAINERS = {"submitted", "submissions", "inbound", "release", "source", "autograded", "notebooks"}


@dataclass(frozen=True)
class Clue:
    """What a path tells: the name and number of a student, the file, lateness, version, time."""

    name: str = ""
    lms_id: str = ""
    gradescope: str = ""
    file: str = ""
    folders: tuple[str, ...] = ()
    late: bool = False
    version: int = 0
    timestamp: datetime | None = None


def read_path(path: str) -> Clue:
    """What the path of one file says, by the naming of Canvas, Moodle, Gradescope and nbgrader."""
    parts = PurePosixPath(unicodedata.normalize("NFC", path)).parts
    clue = Clue(file=parts[-1], folders=tuple(parts[:-1]))
    for part in parts:
        is_file = part is parts[-1]
        stem_of_zip = part[:-4] if part.lower().endswith(".zip") else part
        if found := GRADESCOPE.match(part):
            clue = replace(clue, gradescope=part)
        elif found := MOODLE.match(stem_of_zip):
            clue = replace(clue, name=found["name"], lms_id=found["lms"])
            if is_file and found["file"]:
                clue = replace(clue, file=found["file"])
        elif found := CANVAS.match(part) or CANVAS_ANONYMOUS.match(part):
            groups = found.groupdict()
            clue = replace(
                clue, name=found["name"], lms_id=groups.get("lms") or "", late=bool(found["late"])
            )
            if is_file:
                clue = replace(clue, file=found["file"])
        elif not is_file and (found := NBGRADER.match(part)):
            clue = replace(clue, name=found["name"], timestamp=parse_time(found["time"]))
    number = COPY_NUMBER.search(_stem(clue.file))
    if number:
        clue = replace(clue, version=int(number[1] or number[2]))
    return clue


def parse_time(text: str) -> datetime | None:
    """A time as nbgrader and Gradescope write it; None when it isn't one."""
    try:
        return dates.parse(text.strip())
    except (ValueError, OverflowError, TypeError):
        return None


def assignment_named(file: str, assignments: Iterable[str]) -> str | None:
    """The assignment whose name stands in the file name; the longest when several do."""
    low = _words(_stem(file))
    hits = [
        name
        for name in assignments
        if re.search(rf"(?<![a-z0-9]){re.escape(_words(name))}(?![a-z])", low)
    ]
    return max(hits, key=len, default=None)


def left_over(file: str, assignments: Iterable[str]) -> str:
    """What a file name says beyond the assignment: with luck, the student."""
    low = _words(_stem(file))
    for name in sorted(assignments, key=len, reverse=True):
        low = re.sub(rf"(?<![a-z0-9]){re.escape(_words(name))}(?![a-z])", "_", low)
    words = [word for word in low.split("_") if word and word not in NOISE and len(word) > 1]
    return "_".join(word for word in words if not word.isdigit() or len(word) >= 4)


def student_of(
    clue: Clue, assignments: Iterable[str], directory: Directory, crowded: bool
) -> tuple[str, bool]:
    """The student's id, and whether the roster knows them. An empty id means nothing told it.

    `crowded`: the folder holds the same assignment more than once, so it isn't one student's.
    """
    assignments = list(assignments)
    rest = left_over(clue.file, assignments)
    folders = [
        folder
        for folder in clue.folders
        if folder.casefold() not in CONTAINERS
        and not folder.casefold().endswith("_export")
        and not GRADESCOPE.match(folder)
        and assignment_named(folder + ".ipynb", assignments) is None
    ]
    known = directory.by_lms_id(clue.lms_id) or directory.find(clue.name)
    known = known or next(filter(None, map(directory.find, reversed(folders))), None)
    known = known or directory.find(rest) or directory.find_within(_stem(clue.file))
    if known:
        return known.id, True
    if clue.name:
        number = f"_{clue.lms_id}" if clue.lms_id else ""
        return folder_name(clue.name) + number, False
    if folders and not (crowded and rest):
        return folder_name(folders[-1].removesuffix(".zip")), False
    return folder_name(rest), False


def folder_name(text: str) -> str:
    """A text made fit to be the name of a folder; empty when nothing is left of it."""
    text = re.sub(r"[\s/\\:*?\"<>|+]+", "_", unicodedata.normalize("NFC", text)).strip("._ ")
    text = "".join(letter for letter in text if letter.isprintable())[:80]
    return text if is_folder_name(text) else ""


def _stem(file: str) -> str:
    return re.sub(r"\.ipynb(\.txt|\.json)?$", "", file, flags=re.IGNORECASE)


def _words(text: str) -> str:
    return re.sub(r"[\W_]+", "_", unicodedata.normalize("NFC", text).casefold())
