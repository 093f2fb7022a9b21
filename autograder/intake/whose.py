"""Decides who a file is from, and when it arrived, by the outermost name alone.

That name was written by the learning system or the instructor: it is a folder or file at the top
of what is given, or of a system's zip. Everything inside a student's folder or zip was written by
the student. A claim in there about somebody else, or about a time, is reported to a person and
never believed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import yaml

from autograder.intake.files import METADATA, TIMESTAMP, Entry
from autograder.intake.names import (
    Clue,
    assignment_named,
    github_login,
    left_over,
    read_name,
    stem_of,
)
from autograder.intake.roster import Directory, Student
from autograder.intake.submission import NOBODY, Sender
from autograder.intake.text import clean_name, fingerprint, made_id, moment, plain

CONTAINERS = {"submitted", "submissions", "inbound", "release", "source", "autograded", "notebooks"}
LARGEST_METADATA = 32 << 20
COLAB_ACCOUNT = re.compile(r'"displayName":\s{0,4}"([^"\\]{1,80})"')


@dataclass(frozen=True)
class Arrival:
    """A file, the student it belongs to, and any doubts about that."""

    entry: Entry
    student: str
    file: str
    late: bool = False
    timestamp: datetime | None = None
    sender: Sender = NOBODY
    repairs: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def ignored(self) -> bool:
        return self.entry.path is None and self.entry.data is None and not self.entry.problem


@dataclass(frozen=True)
class Found:
    """A file and what its outermost name reveals; everything below that name is the student's."""

    entry: Entry
    outer: str
    inner: tuple[str, ...]
    clue: Clue
    named: str = ""  # who, according to the name
    person: Student | None = None  # and who that is on the roster
    by_number: bool = False
    settled: bool = False  # the instructor has decided it


def arrivals(
    entries: Sequence[Entry],
    path: Path,
    assignments: Sequence[str],
    directory: Directory,
) -> list[Arrival]:
    """Every file of one path with its student. A system's own files are only read, not graded."""
    shell = _shell(entries, assignments, directory)
    about = _gradescope(entries, shell)
    whole = _one_persons_zip(path, directory)
    found = [
        _read(entry, shell, whole, about, assignments, directory, path)
        for entry in entries
        if not (entry.is_about_others and entry.parts[:-1] == shell)
    ]
    times, untold = _times(found, assignments)
    ids, doubts = _ids(found, directory)
    result = []
    for one, student in zip(found, ids, strict=True):
        if one.entry.is_about_others and not untold.get(one.entry.name):
            continue
        unread = one.entry.path is None and not one.entry.problem
        if unread and one.person is None and not made_id(one.named):
            continue  # the instructor's own file: it belongs to no student and is not read
        flags = [*doubts.get(student, ()), *_claims(one, student, assignments, directory)]
        if one.entry.is_about_others:
            flags.append(untold[one.entry.name])
        result.append(
            Arrival(
                replace(one.entry, path=None) if one.entry.is_about_others else one.entry,
                student,
                one.inner[-1] if one.inner else one.clue.file,
                one.clue.late,
                one.clue.timestamp or times.get(one.entry.parts[:-1]),
                Sender(one.clue.system, one.clue.user, one.clue.attachment, one.outer),
                (),
                tuple(flags),
            )
        )
    return result


def _read(
    entry: Entry,
    shell: tuple[str, ...],
    whole: str,
    about: dict[str, Clue],
    assignments: Sequence[str],
    directory: Directory,
    path: Path,
) -> Found:
    """Read the outermost name of a file."""
    parts = (whole, *entry.parts) if whole else _without_shell(entry.parts, shell, assignments)
    outer, inner = parts[0], parts[1:]
    clue = read_name(outer, is_file=not inner or outer.lower().endswith(".zip"))
    clue = replace(about.get(outer, clue), file=clue.file)
    settled = directory.settled(outer, clue.user)
    if settled is not None:
        return Found(entry, outer, inner, clue, settled.id, settled, True, settled=True)
    if clue.system == "gradescope" and not clue.name:
        return Found(entry, outer, inner, clue, outer)
    if clue.system:
        person = directory.by_lms_id(clue.user)
        if person is not None:
            return Found(entry, outer, inner, clue, clue.name, person, by_number=True)
        person = directory.find(clue.user if clue.system == "gradescope" else "")
        person = person or directory.find(clue.name)
        named = clue.user if clue.system == "gradescope" and clue.user else clue.name
        return Found(entry, outer, inner, clue, named, person)
    if inner:
        base = stem_of(outer)
        login = github_login(base, assignments)
        named = login or base
        if not login and assignment_named(base, assignments):
            named = left_over(base, assignments)
        if login:
            clue = replace(clue, system="github", user=login)
        person = directory.find(base) or directory.find(named) or directory.by_login(base)
        return Found(entry, outer, inner, clue, named, person or directory.find_within(base))
    named = left_over(outer, assignments)
    person = directory.find(named) or directory.find_within(stem_of(outer))
    if person is None and not named and path.is_file():
        person = directory.find(clean_name(path.resolve().parent.name))
    return Found(entry, outer, inner, clue, named, person)


def _is_container(part: str, assignments: Sequence[str]) -> bool:
    low = part.casefold()
    if low in CONTAINERS or low.endswith(("_export", "-submissions")):
        return True
    return bool(assignment_named(part, assignments)) and not left_over(part, assignments)


def _without_shell(
    parts: tuple[str, ...], shell: tuple[str, ...], assignments: Sequence[str]
) -> tuple[str, ...]:
    if parts[: len(shell)] == shell and len(parts) > len(shell):
        parts = parts[len(shell) :]
    while len(parts) > 1 and _is_container(parts[0], assignments):
        parts = parts[1:]
    return parts


def _shell(
    entries: Sequence[Entry], assignments: Sequence[str], directory: Directory
) -> tuple[str, ...]:
    """Folders around the whole class: all files are in them, and they belong to no student."""
    paths = [entry.parts for entry in entries]
    shell: tuple[str, ...] = ()
    while paths and all(len(path) > len(shell) + 1 for path in paths):
        heads = {path[len(shell)] for path in paths}
        head = heads.pop()
        person = directory.find(head) or read_name(head, head.lower().endswith(".zip")).system
        if heads or person:
            break
        below = [_without_shell(path[len(shell) + 1 :], (), assignments) for path in paths]
        if not _is_container(head, assignments) and not _holds_several(below, assignments):
            break
        shell = (*shell, head)
    return shell


def _holds_several(paths: Sequence[tuple[str, ...]], assignments: Sequence[str]) -> bool:
    """Whether a folder is a whole class's, going by the folders and names in it."""
    folders = {path[0] for path in paths if len(path) > 1}
    files = {path[0] for path in paths if len(path) == 1}
    if any(read_name(name, is_file=name in files).system for name in folders | files):
        return True
    if not files:
        return len({name for name in folders if not _is_container(name, assignments)}) > 1
    names = defaultdict(set)
    for file in files:
        names[assignment_named(file, assignments)].add(left_over(file, assignments))
    return any(len(group - {""}) > 1 for assignment, group in names.items() if assignment)


def _one_persons_zip(path: Path, directory: Directory) -> str:
    """The name of a zip that was given alone, if it names a student: all of it is theirs."""
    if path.suffix.lower() != ".zip" or not path.is_file():
        return ""
    name = clean_name(path.name)
    told = read_name(name, is_file=True).system or directory.find(stem_of(name))
    return name if told else ""


def _ids(found: Sequence[Found], directory: Directory) -> tuple[list[str], dict[str, list[str]]]:
    """An id for each file, with any doubts about it."""
    numbers: dict[str, dict[str, bool]] = defaultdict(dict)
    for one in found:
        if one.person is not None and _number(one):
            numbers[one.person.id][_number(one)] = one.by_number
    ids: list[str] = []
    doubts: dict[str, list[str]] = defaultdict(list)
    taken: dict[str, str] = {}
    for one in found:
        if one.person is not None:
            student, doubt = _id_on_roster(one, one.person, numbers[one.person.id])
        else:
            student, doubt = _id_made_up(one, taken, directory)
        ids.append(student)
        if doubt and doubt not in doubts[student]:
            doubts[student].append(doubt)
    return ids, doubts


def _number(one: Found) -> str:
    """The number by which a system tells apart people with the same name."""
    return one.clue.user if one.clue.system in ("canvas", "moodle") else ""


def _id_on_roster(one: Found, person: Student, numbers: dict[str, bool]) -> tuple[str, str]:
    """Give the roster's id to one number: the roster's own, or else the first with the name."""
    if one.settled:
        return person.id, ""
    number = _number(one)
    keeper = next((n for n, sure in numbers.items() if sure), next(iter(numbers), ""))
    # In Canvas a person has one number everywhere; in Moodle it differs between assignments.
    another = one.clue.system == "canvas" and person.lms_id.isdigit() and not one.by_number
    if number and (number != keeper or another):
        return made_id(f"{one.named}_{number}") or f"number-{number}", _same_name(
            one, person, numbers
        )
    doubtful = number and len(numbers) > 1 and not one.by_number
    return person.id, _same_name(one, person, numbers) if doubtful else ""


def _id_made_up(one: Found, taken: dict[str, str], directory: Directory) -> tuple[str, str]:
    """Make an id from the name; two names never share one."""
    told = f"{one.named}_{_number(one)}" if _number(one) else one.named
    student = made_id(told)
    if not student:
        unknown = "unknown-" + (made_id(stem_of(one.outer)) or fingerprint(one.outer, 8))
        return unknown, _nobody(one)
    if taken.setdefault(student, told) != told or directory.has_id(student):
        student = f"{student}-{fingerprint(told, 6)}"
    if not directory:
        return student, ""
    return student, f"{student} is not on the roster; the name was taken from {one.entry.name}."


def _same_name(one: Found, person: Student, rivals: Iterable[str]) -> str:
    numbers = ", ".join(sorted({one.clue.user, *rivals}))
    return (
        f"{one.outer} may not be from {person.full_name} ({person.id}) on the roster: the numbers "
        f"with this name are {numbers}"
        + (f", and the roster has {person.lms_id}" if person.lms_id else "")
        + ". Different numbers are different people: decide who is who."
    )


def _nobody(one: Found) -> str:
    account = _colab_account(one.entry)
    told = f" Its Colab account is '{account}', which proves nothing." if account else ""
    return f"It is not known who handed in {one.entry.name}. Rename it to the student's id.{told}"


def _claims(
    one: Found, student: str, assignments: Sequence[str], directory: Directory
) -> list[str]:
    """Flags for names inside a student's own folder or zip that point to somebody else."""
    inside = list(one.inner) if one.inner else [one.clue.file] if one.clue.system else []
    for place, part in enumerate(inside):
        is_file = place == len(inside) - 1 or part.lower().endswith(".zip")
        clue = read_name(part, is_file)
        named = clue.name or (left_over(part, assignments) if is_file else part)
        other = directory.by_lms_id(clue.user) or directory.find(named)
        if other is not None and other.id != student:
            who = other.id
        elif (
            clue.name
            and plain(clue.name) not in (plain(one.named), plain(student))
            and other is None
        ):
            who = clue.name
        else:
            continue
        return [
            f"{one.entry.name} came from {student}, but contains the name of {who}. It counts as "
            f"{student}'s, by the outermost name; check whether it is {who}'s work."
        ]
    return []


def _gradescope(entries: Sequence[Entry], shell: tuple[str, ...]) -> dict[str, Clue]:
    """Submission folder -> name, id and time, from the file at the top of Gradescope's export."""
    found: dict[str, Clue] = {}
    for entry in entries:
        if entry.parts != (*shell, METADATA):
            continue
        content = _yaml(entry.read().data or b"")
        for folder, about in content.items() if isinstance(content, dict) else ():
            people = about.get(":submitters") if isinstance(about, dict) else None
            if not isinstance(people, list) or not people or not isinstance(people[0], dict):
                continue
            name, number, email = (_scalar(people[0].get(k)) for k in (":name", ":sid", ":email"))
            number = number or email.split("@")[0]
            time = about.get(":created_at")
            found[_scalar(folder)] = Clue(
                "gradescope",
                name or number,
                number,
                timestamp=moment(time if isinstance(time, datetime) else _scalar(time)),
            )
    return found


def _scalar(value: object) -> str:
    """The text of a plain value, never of a list: aliases can make a list endless."""
    return clean_name(str(value)) if isinstance(value, str | int | float) else ""


def _yaml(data: bytes) -> object:
    """A YAML file of reasonable size that uses no list or mapping twice; otherwise None."""
    if len(data) > LARGEST_METADATA:
        return None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    simple: set[str] = set()
    try:
        text = data.decode("utf-8")
        for event in yaml.parse(text, loader):
            if isinstance(event, yaml.ScalarEvent):
                simple.add(event.anchor or "")
            elif isinstance(event, yaml.AliasEvent) and event.anchor not in simple:
                return None
        return yaml.load(text, loader)
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError, AttributeError):
        return None


def _times(
    found: Sequence[Found], assignments: Sequence[str]
) -> tuple[dict[tuple[str, ...], datetime], dict[str, str]]:
    """Folder -> the time in nbgrader's timestamp.txt, and flags for those that can't be trusted.

    nbgrader puts one into everybody's folder. If few have one, they wrote it themselves, as
    did everybody with a folder made by another system. No other time of a file can be trusted either:
    unpacking, copying and downloading all change it, and late days cost points.
    """
    believed, untold, with_time = {}, {}, set()
    folders = {one.outer for one in found if one.inner and not one.clue.system}
    candidates = []
    for one in found:
        if not one.entry.is_about_others:
            continue
        below = one.inner[:-1]
        plain_place = one.outer in folders and not one.outer.lower().endswith(".zip")
        own = not below or (len(below) == 1 and _is_container(below[0], assignments))
        if one.inner[-1:] == (TIMESTAMP,) and plain_place and own:
            time = moment((one.entry.read().data or b"")[:200].decode("utf-8", "replace"))
            with_time.add(one.outer)
            candidates.append((one, time))
        elif one.inner:
            untold[one.entry.name] = _not_believed(one)
    for one, time in candidates:
        if 2 * len(with_time) < len(folders):
            untold[one.entry.name] = _not_believed(one)
        elif time is not None:
            believed[one.entry.parts[:-1]] = time
    return believed, untold


def _not_believed(one: Found) -> str:
    return (
        f"{one.entry.name} is among the student's own files, so what it claims about who and when "
        "is ignored."
    )


def _colab_account(entry: Entry) -> str:
    """The Colab account in the first cells of a nameless notebook, for a person to look at."""
    if entry.path is None or entry.problem:
        return ""
    try:
        with entry.path.open("rb") as file:
            start = file.read(1 << 20).decode("utf-8", "replace")
    except OSError:
        return ""
    names = set(COLAB_ACCOUNT.findall(start))
    return clean_name(names.pop()) if len(names) == 1 else ""
