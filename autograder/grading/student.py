"""From the files of one student to all that is stored about them: intake, box, judge, notebooks.

It needs no gradebook and no course directory, so that it can happen on any machine; what it gives
back is plain values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from nbformat import NotebookNode

from autograder.box import Box
from autograder.grading import clean, course, record
from autograder.grading.grade import Grades, Task, as_records, grade, written_answers
from autograder.grading.outputs import comment_on, write_verdicts
from autograder.grading.releases import read_release, releases_as_read
from autograder.intake import HandedIn, Submission, read_submissions


@dataclass(frozen=True)
class Setting:
    """What is the same for the whole class."""

    run: str
    assignment: str
    seeds: dict[str, tuple[int, ...]]
    cells: dict[str, tuple[str, str, bool]]  # as the gradebook has them: source, checksum, locked


@dataclass(frozen=True)
class Finished:
    """One student's work on its way to the files and the gradebook."""

    student: str
    verdict: dict
    timestamp: datetime | None = None
    scores: dict[str, float | None] = field(default_factory=dict)
    comments: dict[str, str | None] = field(default_factory=dict)
    submitted: bytes | None = None
    autograded: bytes | None = None
    original: bytes | None = None  # only where a person may want to look at it


def fingerprint_of(handed_in: HandedIn) -> str:
    """Changes when any file of the student does; the files have been read."""
    parts = [
        f"{a.entry.name}\n{record.fingerprint(a.entry.data or b'')}" for a in handed_in.arrivals
    ]
    return record.fingerprint("\n".join(parts).encode())


@dataclass(frozen=True)
class Prepared:
    """A student's work as intake rebuilt it, before anything of it has run."""

    submission: Submission
    about: dict


def prepare(handed_in: HandedIn, setting: Setting) -> Prepared:
    """Rebuild what a student handed in; the files have been read."""
    submission = chosen(read_submissions(handed_in, releases_as_read()), setting.assignment)
    return Prepared(submission, about_submission(submission, setting, fingerprint_of(handed_in)))


def complete(prepared: Prepared, setting: Setting, box: Box) -> Finished:
    """Run and judge it. Raises BoxFailed when the box could not do its work."""
    submission, about = prepared.submission, prepared.about
    if submission.notebook is None:
        return flagged(submission, about)
    if submission.assignment != setting.assignment:
        reason = f"It is {submission.assignment}, not {setting.assignment}."
        return flagged(submission, about, reason)
    submitted = record.notebook_bytes(submission.notebook)
    task = Task(submission.student, submission.assignment, submitted, setting.seeds)
    return graded(submission, about, submitted, grade(task, box), setting)


def not_graded(handed_in: HandedIn, setting: Setting, problem: BaseException) -> Finished:
    """When the machine failed, not the student."""
    prepared = prepare(handed_in, setting)
    return flagged(prepared.submission, prepared.about, f"It could not be graded: {problem}")


def chosen(found: Sequence[Submission], assignment: str) -> Submission:
    """The submission of this assignment; what fits no assignment is named beside it.

    Work for other assignments is their own runs' business, unless there is nothing else.
    """
    ours = next((one for one in found if one.assignment == assignment), found[0])
    strays = [one for one in found if one is not ours and one.assignment not in releases_as_read()]
    flags = [flag for stray in strays for flag in stray.flags]
    return replace(ours, flags=(*ours.flags, *flags)) if flags else ours


def about_submission(submission: Submission, setting: Setting, handed_in: str) -> dict:
    """The part of a verdict record that every submission has."""
    when = submission.timestamp
    return {
        "format": record.FORMAT,
        "run": setting.run,
        "student": submission.student,
        "assignment": setting.assignment,
        "source_name": submission.source_name,
        "timestamp": when.isoformat() if when else None,
        "sha256": record.fingerprint(submission.original),
        "handed_in": handed_in,
        "repairs": list(submission.repairs),
        "flags": list(submission.flags),
    }


def flagged(submission: Submission, about: dict, reason: str = "") -> Finished:
    """A submission that a person must look at: it gets no grade, and is never dropped."""
    verdict = {
        **about,
        "status": "flagged",
        "points": 0.0,
        "max_points": 0.0,
        "seconds": 0.0,
        "exercises": [],
        "written": {},
        "printed": "",
    }
    if reason:
        verdict["flags"].append(reason)
    return Finished(submission.student, verdict, submission.timestamp, original=submission.original)


def graded(
    submission: Submission, about: dict, submitted: bytes, grades: Grades, setting: Setting
) -> Finished:
    """Verdict record, scores, comments and the two notebooks of one submission."""
    trusted = clean.texts_of(read_release(setting.assignment))
    notebook = clean.clean_notebook(submission.notebook, trusted)
    course.restore_locked(notebook, setting.cells)
    write_verdicts(notebook, grades)
    written = written_answers(notebook)
    verdict = {
        **about,
        "status": "graded",
        "points": grades.points,
        "max_points": grades.max_points,
        "seconds": grades.seconds,
        "exercises": as_records(grades, setting.seeds),
        "written": written,
        "printed": grades.printed,
    }
    for answer in grades.answers:
        if answer.box not in ("ok", "timeout", "memory"):
            verdict["flags"].append(f"{answer.verdict.exercise}: {answer.message}")
    return Finished(
        submission.student,
        verdict,
        submission.timestamp,
        scores(notebook),
        comments(grades, written),
        submitted,
        record.notebook_bytes(notebook),
        submission.original if verdict["repairs"] or verdict["flags"] else None,
    )


def scores(notebook: NotebookNode) -> dict[str, float | None]:
    """The automatic score of every graded cell; None where a person has to read."""
    from nbgrader.utils import determine_grade, is_grade

    return {
        cell.metadata.nbgrader["grade_id"]: determine_grade(cell)[0]
        for cell in notebook.cells
        if is_grade(cell)
    }


def comments(grades: Grades, written: dict[str, dict]) -> dict[str, str | None]:
    """The automatic comment of every answer: the verdict in words, or that there is none."""
    found: dict[str, str | None] = {}
    for name, answer in written.items():
        found[name] = None if answer["answered"] else "No response."
    for answer in grades.answers:
        found[answer.verdict.exercise] = comment_on(answer)
    return found
