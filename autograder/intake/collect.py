"""Collects a whole class: from folders and zips to one submission per student and assignment.

First `find_files` sorts the files by student, from their names alone where it can; what a student
handed in is read and rebuilt by `read_submissions` when its turn comes, on any machine.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from pathlib import Path

from nbformat import NotebookNode

from autograder.intake.cells import Unreadable, read_document
from autograder.intake.files import Opening, open_entries
from autograder.intake.matching import likeness
from autograder.intake.names import assignment_named, version_in
from autograder.intake.places import Release, read_release
from autograder.intake.rebuild import rebuild_from
from autograder.intake.roster import Directory, read_roster, read_settled
from autograder.intake.submission import Submission
from autograder.intake.text import sentences
from autograder.intake.whose import Arrival, arrivals
from autograder.intake.whose_numbers import carry_typed_id, doubts_about_numbers

MOST_NOTEBOOKS = 20  # read per student
LARGEST_TOGETHER = 96 << 20  # bytes read per student
MOST_NAMED = 10
CANVAS_LATE = "Canvas marks it as late."
# With a smaller share of an assignment's cells, a notebook's contents alone don't identify it.
ENOUGH = 0.3


@dataclass(frozen=True)
class HandedIn:
    """All files of one student."""

    student: str
    arrivals: tuple[Arrival, ...]
    flags: tuple[str, ...] = ()

    def read(self) -> HandedIn:
        """The same, with the bytes of every file, so that it can travel."""
        return replace(
            self, arrivals=tuple(replace(a, entry=a.entry.read()) for a in self.arrivals)
        )


def collect(
    paths: Iterable[Path | str] | Path | str,
    releases: Mapping[str, NotebookNode],
    roster: Path | None = None,
) -> list[Submission]:
    """One submission per student and assignment found in the paths, sorted by student.

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
    settled: Path | None = None,
    opening: Callable[[Path], Opening] = Opening,
) -> list[HandedIn]:
    """Who handed in which files, sorted by student; zips are unpacked into `scratch`.

    `settled` is the instructor's own file for what the roster does not settle. `opening` decides
    who opens the zips.
    """
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    known_people = read_roster(roster) if roster else []
    directory = Directory(known_people, read_settled(settled) if settled else {})
    by_student: dict[str, list[Arrival]] = defaultdict(list)
    known = list(assignments)
    for path in map(Path, paths):
        entries = list(open_entries(path, opening(scratch)))
        for arrival in arrivals(entries, path, known, directory):
            by_student[arrival.student].append(arrival)
    return [_handed_in(student, found) for student, found in sorted(by_student.items())]


def _handed_in(student: str, found: list[Arrival]) -> HandedIn:
    """As many of a student's notebooks as are read, those nearest to the top first."""
    readable = sorted(
        (one for one in found if one.entry.path is not None),
        key=lambda one: (len(one.entry.parts), one.entry.name),
    )
    kept: list[Arrival] = []
    room = LARGEST_TOGETHER
    for one in readable:
        room -= one.entry.size()
        if len(kept) < MOST_NOTEBOOKS and (room >= 0 or not kept):
            kept.append(one)
    others = [one for one in found if one.entry.path is None]
    flags = [flag for one in found if one.ignored for flag in one.flags]
    if len(kept) < len(readable):
        flags.append(
            f"{len(readable)} notebooks were handed in, so many or so large that only the {len(kept)} "
            f"nearest to the top were read, and {readable[-1].entry.name}, for example, was not."
        )
    problems = [one for one in others if not one.ignored]
    more = len(problems) - MOST_NOTEBOOKS
    if more > 0:
        flags.append(f"{more} more files can't be read.")
    ignored = [one for one in others if one.ignored][: MOST_NAMED + 1]
    return HandedIn(student, (*kept, *problems[:MOST_NOTEBOOKS], *ignored), sentences(flags))


def read_submissions(handed_in: HandedIn, releases: Mapping[str, Release]) -> list[Submission]:
    """One submission per assignment that a student handed in. Nothing in the files raises."""
    files = [arrival for arrival in handed_in.arrivals if not arrival.ignored]
    extra = [arrival.entry.name for arrival in handed_in.arrivals if arrival.ignored]
    if files:
        found = _one_each([_submission(arrival, releases) for arrival in files])
    else:
        found = [_without_notebook(handed_in, extra, list(releases))]
        extra = []
    note = [f"Extra files, ignored: {', '.join(extra[:MOST_NAMED])}."] if extra else []
    return [
        replace(
            one,
            repairs=sentences((*one.repairs, *note)),
            flags=sentences((*handed_in.flags, *one.flags)),
        )
        for one in found
    ]


def _submission(arrival: Arrival, releases: Mapping[str, Release]) -> Submission:
    entry, student = arrival.entry, arrival.student
    repairs, flags = list(arrival.repairs), list(arrival.flags)
    if arrival.late:
        repairs.append(CANVAS_LATE)
    named = assignment_named(arrival.file, releases) or assignment_named(
        "_".join(entry.parts[:-1])[-200:], releases
    )
    assignment: str | None = named or (next(iter(releases)) if len(releases) == 1 else "unknown")
    nothing = Submission(
        student,
        assignment or "unknown",
        None,
        entry.data or b"",
        entry.name,
        timestamp=arrival.timestamp,
        sender=arrival.sender,
    )
    if entry.problem:
        return replace(nothing, repairs=tuple(repairs), flags=(*flags, entry.problem))
    try:
        assignment, doubt = _assignment_of(nothing.original, named, releases)
        if doubt:
            flags.append(doubt)
        if assignment is None:
            return replace(nothing, repairs=tuple(repairs), flags=tuple(flags))
        if arrival.file.removesuffix(".ipynb") != assignment:
            repairs.append(f"The file was called '{arrival.file}'.")
        rebuilt = rebuild_from(nothing.original, releases[assignment])
        if rebuilt.notebook is not None:
            document, release = read_document(nothing.original), releases[assignment]
            flags += doubts_about_numbers(document, release, student)
            carry_typed_id(rebuilt.notebook, document, release)
            nothing = replace(nothing, assignment=assignment, notebook=rebuilt.notebook)
    except Exception as error:  # whatever one file does to us, the class goes on
        flags.append(f"Reading {entry.name} failed ({type(error).__name__}: {error}).")
        return replace(nothing, repairs=tuple(repairs), flags=tuple(flags))
    return replace(nothing, repairs=(*repairs, *rebuilt.repairs), flags=(*flags, *rebuilt.flags))


def _assignment_of(
    data: bytes, named: str | None, releases: Mapping[str, Release]
) -> tuple[str | None, str]:
    """The assignment, and a sentence if name and contents disagree or nothing fits."""
    if named is not None:
        mine = likeness(data, releases[named])
        if mine >= ENOUGH or len(releases) == 1:
            return named, ""
    likes = {name: likeness(data, release) for name, release in releases.items()}
    best = max(likes, key=lambda name: likes[name], default=None)
    if named is not None:
        if (
            best is not None
            and best != named
            and likes[best] >= ENOUGH
            and likes[best] > 2 * likes[named]
        ):
            return best, (
                f"The file is named after {named}, but its cells are those of {best}, so it is filed "
                f"under {best}. Ask the student for {named}."
            )
        return named, ""
    if best is not None and likes[best] >= ENOUGH:
        return best, ""
    if best is not None and len(releases) == 1 and likes[best] > 0:
        return best, ""
    if not _is_notebook(data):
        # Rebuilding reports what the file is instead.
        return (next(iter(releases)) if releases else None), ""
    return None, "This isn't one of the assignments: neither its name nor its cells match any."


def _is_notebook(data: bytes) -> bool:
    try:
        return bool(read_document(data).cells)
    except Unreadable:
        return False


def _one_each(submissions: list[Submission]) -> list[Submission]:
    """The newest of a student's files for one assignment; the others are mentioned."""
    groups: dict[tuple[str, str], list[Submission]] = defaultdict(list)
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
    version = version_in(submission.source_name)
    return (submission.notebook is not None, stamp, version, submission.source_name)


def _with_others(best: Submission, others: list[Submission]) -> Submission:
    repairs, flags = list(best.repairs), list(best.flags)
    for other in others:
        if other.notebook is None:
            repairs.append(f"Also handed in, but unusable: {other.source_name}.")
            flags += [flag for flag in other.flags if flag not in flags]
        elif _sources(other) == _sources(best):
            repairs.append(f"Handed in twice with the same answers: {other.source_name}.")
        else:
            flags.append(
                f"Two different notebooks were handed in. The newer one, {best.source_name}, is "
                f"graded; check whether {other.source_name} should count instead."
            )
    return replace(best, repairs=tuple(repairs), flags=tuple(flags))


def _sources(submission: Submission) -> list[str]:
    notebook = submission.notebook
    return [
        cell.source
        for cell in (notebook.cells if notebook is not None else ())
        if cell.metadata.get("nbgrader", {}).get("solution")
    ]


def _without_notebook(handed_in: HandedIn, names: list[str], known: list[str]) -> Submission:
    """Flag a student who handed in nothing that can be read."""
    only = ", ".join(names[:MOST_NAMED])
    flags = [flag for arrival in handed_in.arrivals for flag in arrival.flags]
    return Submission(
        handed_in.student,
        known[0] if len(known) == 1 else "unknown",
        None,
        b"",
        names[0],
        flags=(*flags, f"No notebook was handed in, only {only}."),
        sender=handed_in.arrivals[0].sender,
    )
