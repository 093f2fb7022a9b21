"""Tells from a name which notebook it is and, from the outermost name, who handed it in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from autograder.intake.text import clean_name, moment

# Canvas's download (`ContentZipper` in instructure/canvas-lms): the sortable name without its
# spaces and signs, LATE, the user's number, then the file's number and name. An answer that was
# typed in is called ..._text.html, an address ..._link.html, and neither has a file's number. Where
# students are anonymous, LATE is in front. A name with an underscore is rare, so that the numbers
# have to look like Canvas's.
CANVAS = re.compile(
    r"^(?P<name>[^_]+|.+?(?=(?:_LATE)?_\d{3,}_\d{4,}_))(?P<late>_LATE)?_(?P<user>\d+)_"
    r"(?P<attachment>\d{3,})_(?P<file>.+)$"
)
CANVAS_TYPED = re.compile(
    r"^(?P<name>[^_]+)(?P<late>_LATE)?_(?P<user>\d+)_(?P<file>(?:text|link)\.html)$"
)
CANVAS_ANONYMOUS = re.compile(
    r"^(?P<late>LATE_)?(?P<name>anon_[A-Za-z0-9]+)_(?P<attachment>\d+)_(?P<file>.+)$"
)
MOODLE = re.compile(
    r"^(?P<name>.+?)_(?P<user>\d+)_assignsubmission_(?:file|onlinetext)_?(?P<file>.*)$"
)
GRADESCOPE = re.compile(r"^submission_(?P<number>\d+)$")
NBGRADER = re.compile(r"^(?P<name>[^+]+)\+(?P<file>[^+]+)\+(?P<time>[^+]+?)(\+.*)?$")

NOTEBOOK = re.compile(r"\.ipynb(\.txt|\.json)?$", re.IGNORECASE)
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


@dataclass(frozen=True)
class Clue:
    """What a learning system's own name contains: who, their number, when, and the file's name."""

    system: str = ""
    name: str = ""
    user: str = ""
    attachment: str = ""
    file: str = ""
    late: bool = False
    timestamp: datetime | None = None


def read_name(part: str, is_file: bool) -> Clue:
    """Read a name as Canvas, Moodle, Gradescope or nbgrader write it; no system if none fits."""
    stem = part[:-4] if part.lower().endswith(".zip") else part
    if not is_file and GRADESCOPE.match(part):
        return Clue("gradescope", file=part)
    if found := MOODLE.match(stem):
        return Clue("moodle", found["name"], found["user"], file=found["file"] or part)
    patterns = (CANVAS, CANVAS_TYPED, CANVAS_ANONYMOUS) if is_file else ()
    if found := next((hit for pattern in patterns if (hit := pattern.match(part))), None):
        groups = found.groupdict("")
        user, attachment = groups.get("user", ""), groups.get("attachment", "")
        late = bool(groups["late"])
        return Clue("canvas", groups["name"], user, attachment, groups["file"], late)
    if not is_file and (found := NBGRADER.match(part)):
        return Clue("nbgrader", found["name"], file=part, timestamp=moment(found["time"]))
    return Clue(file=part)


def version_in(name: str) -> int:
    """The number that a copy of a file has in its name."""
    number = COPY_NUMBER.search(stem_of(name))
    return int(number[1] or number[2]) if number else 0


def assignment_named(file: str, assignments: Iterable[str]) -> str | None:
    """The assignment whose name is in the file name; the longest if there are several."""
    low = _words(stem_of(file))
    hits = [
        name
        for name in assignments
        if re.search(rf"(?<![a-z0-9]){re.escape(_words(name))}(?![a-z])", low)
    ]
    return max(hits, key=len, default=None)


def left_over(file: str, assignments: Iterable[str]) -> str:
    """What a file name contains besides the assignment: with luck, the student."""
    low = _words(stem_of(file))
    for name in sorted(assignments, key=len, reverse=True):
        low = re.sub(rf"(?<![a-z0-9]){re.escape(_words(name))}(?![a-z])", "_", low)
    words = [word for word in low.split("_") if word and word not in NOISE and len(word) > 1]
    return "_".join(word for word in words if not word.isdigit() or len(word) >= 4)


def github_login(folder: str, assignments: Iterable[str]) -> str:
    """The login in a GitHub Classroom folder, `attention-eanders`; empty for other folders."""
    words = clean_name(folder).split("-")
    for name in assignments:
        of_name = {word for word in _words(name).split("_") if word}
        count = 0
        while count < len(words) and words[count].casefold() in of_name | NOISE:
            count += 1
        # A number alone ("03-jdoe") doesn't name an assignment.
        if any(word.casefold() in of_name and not word.isdigit() for word in words[:count]):
            return "-".join(words[count:])
    return ""


def stem_of(file: str) -> str:
    return NOTEBOOK.sub("", file[:-4] if file.lower().endswith(".zip") else file)


def _words(text: str) -> str:
    return re.sub(r"[\W_]+", "_", clean_name(text).casefold())
