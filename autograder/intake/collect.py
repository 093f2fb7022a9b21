"""Collects a whole class: from folders and zip files to one submission a student and assignment.

First `find_files` sorts the files by student, from their names alone where it can; what a student
handed in is read and rebuilt by `read_submissions` when its turn comes, on whatever machine.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

import yaml
from nbformat import NotebookNode

from autograder.intake.cells import read_document
from autograder.intake.files import READ_ALSO, Entry, open_entries
from autograder.intake.matching import likeness
from autograder.intake.names import (
    Clue,
    assignment_named,
    folder_name,
    parse_time,
    read_path,
    student_of,
)
from autograder.intake.places import Release, read_release
from autograder.intake.rebuild import rebuild_from
from autograder.intake.roster import Directory, read_roster
from autograder.intake.submission import Submission
from autograder.intake.whose_numbers import carry_typed_id, doubts_about_numbers

# Below this share of an assignment's cells a notebook is not taken for it by its contents alone.
ENOUGH = 0.3


@dataclass(frozen=True)
class Arrival:
    """A file, what its path says, and whose it is, with what was found out and what is in doubt."""

    entry: Entry
    clue: Clue
    student: str
    repairs: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def ignored(self) -> bool:
        return self.entry.path is None and self.entry.data is None and not self.entry.problem


@dataclass(frozen=True)
class HandedIn:
    """All files of one student."""

    student: str
    arrivals: tuple[Arrival, ...]

    def read(self) -> HandedIn:
        """The same with the bytes of every file in it, so that it can travel."""
        return replace(
            self, arrivals=tuple(replace(a, entry=a.entry.read()) for a in self.arrivals)
        )


def collect(
    paths: Iterable[Path | str] | Path | str,
    releases: Mapping[str, NotebookNode],
    roster: Path | None = None,
) -> list[Submission]:
    """One submission for each student and assignment found in the paths, sorted by student.

    Raises FileNotFoundError for a path that isn't there and RosterError for a bad roster; nothing
    inside the paths raises.
    """
    prepared = {name: read_release(notebook) for name, notebook in releases.items()}
    with tempfile.TemporaryDirectory(prefix="handed-in-") as scratch:
        found = find_files(paths, prepared, Path(scratch), roster)
        return [s for one in found for s in read_submissions(one.read(), prepared)]


def find_files(
    paths: Iterable[Path | str] | Path | str,
    assignments: Iterable[str],
    scratch: Path,
    roster: Path | None = None,
) -> list[HandedIn]:
    """Who handed in which files, sorted by student; `scratch` holds what comes out of zips."""
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    directory = Directory(read_roster(roster) if roster else [])
    assignments, by_student = list(assignments), defaultdict(list)
    for path in map(Path, paths):
        entries = list(open_entries(path, scratch))
        for arrival in _arrivals(entries, path, assignments, directory, bool(roster)):
            if arrival.student:
                by_student[arrival.student].append(arrival)
    return [HandedIn(student, tuple(found)) for student, found in sorted(by_student.items())]


def read_submissions(handed_in: HandedIn, releases: Mapping[str, Release]) -> list[Submission]:
    """One submission for each assignment that a student handed in. Nothing in the files raises."""
    files = [arrival for arrival in handed_in.arrivals if not arrival.ignored]
    extra = [arrival.entry.name for arrival in handed_in.arrivals if arrival.ignored]
    if not files:
        return [_without_notebook(handed_in.student, extra, list(releases))]
    found = _one_each([_submission(arrival, releases) for arrival in files])
    if extra:
        note = f"Extra files, ignored: {', '.join(extra[:10])}."
        found = [replace(one, repairs=(*one.repairs, note)) for one in found]
    return found


def _arrivals(
    entries: list[Entry],
    path: Path,
    releases: list[str],
    directory: Directory,
    has_roster: bool,
) -> list[Arrival]:
    """Everything that was handed in, with its student. The LMS's own files are only read."""
    gradescope, times = _gradescope(entries), _times(entries)
    crowds = Counter(
        (str(PurePosixPath(entry.name).parent), assignment_named(entry.name, releases))
        for entry in entries
        if entry.path is not None and not entry.name.endswith(READ_ALSO)
    )
    found = []
    for entry in entries:
        if entry.name.endswith(READ_ALSO) and not entry.problem:
            continue
        clue, repairs, flags = read_path(entry.name), [], []
        folder = str(PurePosixPath(entry.name).parent)
        if clue.gradescope in gradescope:
            name, number, time = gradescope[clue.gradescope]
            clue = replace(clue, name=name, lms_id=number, timestamp=time)
        if folder in times and clue.timestamp is None:
            clue = replace(clue, timestamp=times[folder])
        crowded = crowds[folder, assignment_named(entry.name, releases)] > 1
        student, known = student_of(clue, releases, directory, crowded)
        if not known and clue.gradescope in gradescope and clue.lms_id:
            student = folder_name(clue.lms_id) or student
        if not student and path.is_file() and len(clue.folders) == 0:
            student, known = student_of(
                replace(clue, folders=(path.resolve().parent.name,)), releases, directory, False
            )
            student = student if known else ""
        if not student and entry.path is not None:
            account = _colab_account(entry.read().data or b"")
            owner = directory.find(account)
            if account:
                student, known = (owner.id, True) if owner else (folder_name(account), False)
                repairs.append(f"The student was found by the Colab account '{account}'.")
        if student:
            if has_roster and not known:
                flags.append(f"{student} is not on the roster; the name comes from {entry.name}.")
        elif entry.path is not None or entry.problem:
            student = "unknown-" + (folder_name(clue.file.removesuffix(".ipynb")) or "file")
            flags.append(
                f"Nothing tells who handed in {entry.name}; give the file the student's id."
            )
        found.append(Arrival(entry, clue, student, tuple(repairs), tuple(flags)))
    return found


def _submission(arrival: Arrival, releases: Mapping[str, Release]) -> Submission:
    entry, clue, student = arrival.entry, arrival.clue, arrival.student
    repairs, flags = list(arrival.repairs), list(arrival.flags)
    if clue.late:
        repairs.append("Canvas marks it as late.")
    named = assignment_named(clue.file, releases) or assignment_named(
        "_".join(clue.folders), releases
    )
    fallback = named or (next(iter(releases)) if len(releases) == 1 else "unknown")
    if entry.problem:
        return Submission(
            student, fallback, None, b"", entry.name, tuple(repairs), (*flags, entry.problem)
        )
    data = entry.data or b""
    try:
        assignment, doubt = _assignment_of(data, named, releases)
        if doubt:
            flags.append(doubt)
        if assignment is None:
            return Submission(
                student,
                fallback,
                None,
                data,
                entry.name,
                tuple(repairs),
                tuple(flags),
                clue.timestamp,
            )
        if clue.file.removesuffix(".ipynb") != assignment:
            repairs.append(f"The file was called '{clue.file}'.")
        rebuilt = rebuild_from(data, releases[assignment])
        if rebuilt.notebook is not None:
            document, release = read_document(data), releases[assignment]
            flags += doubts_about_numbers(document, release, student)
            carry_typed_id(rebuilt.notebook, document, release)
    except Exception as error:  # whatever one file does to us, the class goes on
        flags.append(f"Reading {entry.name} failed ({type(error).__name__}: {error}).")
        return Submission(
            student, fallback, None, data, entry.name, tuple(repairs), tuple(flags), clue.timestamp
        )
    return Submission(
        student,
        fallback if rebuilt.notebook is None else assignment,
        rebuilt.notebook,
        data,
        entry.name,
        (*repairs, *rebuilt.repairs),
        (*flags, *rebuilt.flags),
        clue.timestamp,
    )


def _assignment_of(
    data: bytes, named: str | None, releases: Mapping[str, Release]
) -> tuple[str | None, str]:
    """The assignment, and a sentence when name and contents disagree or nothing fits."""
    if named is not None:
        mine = likeness(data, releases[named])
        if mine >= ENOUGH or len(releases) == 1:
            return named, ""
    likes = {name: likeness(data, release) for name, release in releases.items()}
    best = max(likes, key=likes.get, default=None)
    if named is not None:
        if best != named and likes[best] >= ENOUGH and likes[best] > 2 * likes[named]:
            return best, (
                f"The file's name says {named}, its cells are those of {best}: it is filed under "
                f"{best}. Ask the student for {named}."
            )
        return named, ""
    if best is not None and likes[best] >= ENOUGH:
        return best, ""
    if len(releases) == 1 and likes[best] > 0:
        return best, ""
    if not _is_notebook(data):
        # Rebuilding says what the file is instead.
        return (next(iter(releases)) if releases else None), ""
    return None, "This isn't any of the assignments: neither its name nor its cells fit one."


def _is_notebook(data: bytes) -> bool:
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and bool(content.get("cells"))


def _one_each(submissions: list[Submission]) -> list[Submission]:
    """The newest of several files by one student for one assignment; the others are named."""
    groups = defaultdict(list)
    for submission in submissions:
        groups[submission.student, submission.assignment].append(submission)
    chosen = []
    for _, group in sorted(groups.items()):
        ordered = sorted(group, key=_age)
        best, others = ordered[-1], ordered[:-1]
        if others:
            best = _with_others(best, others)
        chosen.append(best)
    return chosen


def _age(submission: Submission) -> tuple:
    """Sorts unreadable before readable, then by time, then by the version in the name."""
    time = submission.timestamp
    stamp = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() if time else 0.0
    version = read_path(submission.source_name).version if submission.source_name else 0
    return (submission.notebook is not None, stamp, version, submission.source_name)


def _with_others(best: Submission, others: list[Submission]) -> Submission:
    repairs, flags = list(best.repairs), list(best.flags)
    for other in others:
        if other.notebook is None:
            repairs.append(f"Also handed in, and not usable: {other.source_name}.")
            flags += [flag for flag in other.flags if flag not in flags]
        elif _sources(other) == _sources(best):
            repairs.append(f"Handed in twice with the same answers: {other.source_name}.")
        else:
            flags.append(
                f"Two different notebooks were handed in: {best.source_name} is graded, as the "
                f"newer; look whether {other.source_name} counts."
            )
    return replace(best, repairs=tuple(repairs), flags=tuple(flags))


def _sources(submission: Submission) -> list[str]:
    return [
        cell.source
        for cell in submission.notebook.cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    ]


def _without_notebook(student: str, names: list[str], assignments: list[str]) -> Submission:
    """A student with nothing to read gets a flag."""
    return Submission(
        student,
        assignments[0] if len(assignments) == 1 else "unknown",
        None,
        b"",
        names[0],
        (),
        (f"No notebook was handed in, only {', '.join(names[:10])}.",),
    )


def _gradescope(entries: list[Entry]) -> dict[str, tuple[str, str, datetime | None]]:
    """Submission folder -> name, id and time, from the file Gradescope puts into its export."""
    found = {}
    for entry in entries:
        if not entry.name.endswith("submission_metadata.yml"):
            continue
        try:
            content = yaml.safe_load(entry.read().data or b"")
        except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError):
            continue
        for folder, about in content.items() if isinstance(content, dict) else ():
            people = about.get(":submitters") if isinstance(about, dict) else None
            if not isinstance(people, list) or not people or not isinstance(people[0], dict):
                continue
            person = {key: str(people[0].get(key) or "") for key in (":name", ":sid", ":email")}
            time = about.get(":created_at")
            time = time if isinstance(time, datetime) else parse_time(str(time or ""))
            number = person[":sid"] or person[":email"].split("@")[0]
            found[str(folder)] = (person[":name"] or number, number, time)
    return found


def _times(entries: list[Entry]) -> dict[str, datetime]:
    """Folder -> the time in nbgrader's timestamp.txt. No other time of a file can be trusted:

    unpacking, copying and downloading all change it, and late days cost points.
    """
    found = {}
    for entry in entries:
        if PurePosixPath(entry.name).name == "timestamp.txt":
            time = parse_time((entry.read().data or b"").decode("utf-8", "replace"))
            if time is not None:
                found[str(PurePosixPath(entry.name).parent)] = time
    return found


def _colab_account(data: bytes) -> str:
    """The name of the account that ran a notebook in Colab, if all cells name the same one."""
    try:
        cells = json.loads(data).get("cells", [])
        names = {
            cell["metadata"]["executionInfo"]["user"]["displayName"]
            for cell in cells
            if "executionInfo" in cell.get("metadata", {})
        }
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return ""
    name = names.pop() if len(names) == 1 else ""
    return name if isinstance(name, str) else ""
