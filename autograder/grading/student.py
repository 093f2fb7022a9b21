"""From one student's files to everything stored about them: intake, box, judge, notebooks.

It needs no gradebook and no course directory, so that it can happen on any machine; what it takes
and gives back are plain values that can travel.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import nbformat
from nbformat import NotebookNode

from autograder.cell_names import check_cell
from autograder.grading import clean, outputs
from autograder.grading.archive import notebook_bytes
from autograder.grading.grade import RunsJobs, Task, grade, written_answers
from autograder.grading.record import (
    Flag,
    SubmissionRecord,
    WrittenRecord,
    fingerprint,
    fingerprint_of_files,
)
from autograder.grading.releases import releases_as_read
from autograder.grading.verdict import Grades, with_verdicts
from autograder.intake import HandedIn, Submission, read_submissions
from course_utils import register


@dataclass(frozen=True)
class StoredCell:
    """A cell of an assignment, as stored in the gradebook."""

    source: str
    checksum: str
    locked: bool


@dataclass(frozen=True)
class Setting:
    """What is the same for the whole class."""

    run: str
    assignment: str
    seeds: Mapping[str, tuple[int, ...]]
    cells: Mapping[str, StoredCell]
    release: str = ""  # the text of the notebook that these students were given
    register: dict | None = None  # the exercises as their class uses them


@dataclass(frozen=True)
class Stored:
    """A stored submission that is judged again."""

    record: SubmissionRecord
    submitted: bytes  # the notebook that is judged
    autograded: bytes | None = None  # the one that the verdicts are written into
    exercises: tuple[str, ...] = ()  # these alone; without any, all of them


@dataclass(frozen=True)
class TakenIn:
    """A student's work as intake rebuilt it, before any of it has run."""

    submission: Submission
    record: SubmissionRecord


@dataclass(frozen=True)
class Finished:
    """One student's work on its way to the files and the gradebook."""

    record: SubmissionRecord
    scores: Mapping[str, float | None] = field(default_factory=dict)
    comments: Mapping[str, str | None] = field(default_factory=dict)
    submitted: bytes | None = None
    autograded: bytes | None = None
    original: bytes | None = None  # only where a person may want to look at it


def fingerprint_of(handed_in: HandedIn) -> str:
    """A fingerprint that changes with any of the student's files, which have been read."""
    return fingerprint_of_files((a.entry.name, a.entry.data or b"") for a in handed_in.arrivals)


def take_in(handed_in: HandedIn, setting: Setting) -> TakenIn:
    """Rebuild what a student handed in; the files have been read."""
    register.use(setting.register)  # we may be in another process
    releases = releases_as_read(setting.assignment, setting.release)
    submission = chosen(read_submissions(handed_in, releases), setting.assignment)
    record = SubmissionRecord(
        setting.run,
        submission.student,
        setting.assignment,
        submission.source_name,
        submission.timestamp,
        fingerprint(submission.original),
        fingerprint_of(handed_in),
        repairs=submission.repairs,
        flags=tuple(Flag("intake", text) for text in submission.flags),
        sender=submission.sender,
    )
    return TakenIn(submission, record)


def complete(taken_in: TakenIn, setting: Setting, box: RunsJobs) -> Finished:
    """Run and judge it. Raises BoxFailed if the box could not do its work."""
    submission = taken_in.submission
    if submission.notebook is None:
        return flagged(taken_in)
    if submission.assignment != setting.assignment:
        reason = f"It is {submission.assignment}, not {setting.assignment}."
        return flagged(taken_in, Flag("intake", reason))
    submitted = notebook_bytes(submission.notebook)
    grades = grade(Task(submission.student, submission.notebook, setting.seeds), box)
    return graded(taken_in, submission.notebook, submitted, grades, setting)


def finish(handed_in: HandedIn, setting: Setting, box: RunsJobs) -> Finished:
    """Do everything for one student. Whatever fails after reading becomes a flag."""
    taken_in = take_in(handed_in, setting)
    try:
        return complete(taken_in, setting, box)
    except Exception as problem:
        return flagged(taken_in, Flag("grader", f"It could not be graded: {problem}"))


def judge_again(stored: Stored, setting: Setting, box: RunsJobs) -> Finished:
    """New verdicts on a stored notebook; nothing else in its record changes.

    Raises BoxFailed when the box could not do its work, and whatever a damaged file leads to.
    """
    register.use(setting.register)
    notebook = nbformat.reads(stored.submitted.decode(), as_version=4)
    wanted = only(notebook, stored.exercises) if stored.exercises else notebook
    grades = grade(Task(stored.record.student, wanted, setting.seeds), box)
    record = with_verdicts(stored.record, grades, setting.run, stored.record.written)
    comments = {answer.exercise: outputs.comment_on(answer) for answer in grades.answers}
    if stored.autograded is None:
        return Finished(record, comments=comments)
    shown = nbformat.reads(stored.autograded.decode(), as_version=4)
    outputs.write_verdicts(shown, grades, all_exercises=not stored.exercises)
    judged = [check_cell(answer.exercise) for answer in grades.answers]
    scores = {name: score for name, score in outputs.scores(shown).items() if name in judged}
    return Finished(record, scores, comments, autograded=notebook_bytes(shown))


def only(notebook: NotebookNode, wanted: Sequence[str]) -> NotebookNode:
    """The notebook with only the check cells of the wanted exercises."""
    kept = copy.copy(notebook)
    kept["cells"] = [
        cell for cell in notebook.cells if outputs.checked_exercise(cell) in (None, *wanted)
    ]
    return kept


def unread(handed_in: HandedIn, setting: Setting, reason: str) -> Finished:
    """Flag work that could not be read to its end, and keep its bytes. Nothing is parsed."""
    first = next((one for one in handed_in.arrivals if not one.ignored), handed_in.arrivals[0])
    content = first.entry.data or b""
    record = SubmissionRecord(
        setting.run,
        handed_in.student,
        setting.assignment,
        first.entry.name,
        first.timestamp,
        fingerprint(content),
        fingerprint_of(handed_in),
        flags=(Flag("grader", f"It could not be graded: {reason}"),),
        sender=first.sender,
    )
    return Finished(record, original=content)


def chosen(found: Sequence[Submission], assignment: str) -> Submission:
    """The submission of this assignment; files that fit no assignment are mentioned with it.

    Work for other assignments is left to their own runs, unless there is nothing else.
    """
    ours = next((one for one in found if one.assignment == assignment), found[0])
    strays = [one for one in found if one is not ours and one.assignment not in releases_as_read()]
    flags = [flag for stray in strays for flag in stray.flags]
    return replace(ours, flags=(*ours.flags, *flags)) if flags else ours


def flagged(taken_in: TakenIn, *reasons: Flag) -> Finished:
    """A submission that a person must look at: it gets no grade, and is never dropped."""
    record = replace(taken_in.record, flags=(*taken_in.record.flags, *reasons))
    return Finished(record, original=taken_in.submission.original)


def graded(
    taken_in: TakenIn, notebook: NotebookNode, submitted: bytes, grades: Grades, setting: Setting
) -> Finished:
    """Record, scores, comments and the two notebooks of one submission.

    What intake rebuilt is harmless already, so the student's outputs only get their mark.
    """
    mark_outputs(notebook)
    restore_locked(notebook, setting.cells)
    outputs.write_verdicts(notebook, grades)
    record = with_verdicts(taken_in.record, grades, setting.run, written_answers(notebook))
    return Finished(
        record,
        outputs.scores(notebook),
        comments(grades, record.written),
        submitted,
        notebook_bytes(notebook),
        taken_in.submission.original if record.repairs or record.flags else None,
    )


def mark_outputs(notebook: NotebookNode) -> None:
    """Label saved outputs as the student's own, for the person who marks."""
    for cell in notebook.cells:
        if cell.get("outputs") and cell.outputs[0].get("text") != clean.OWN_OUTPUT:
            cell.outputs = [outputs.printed(clean.OWN_OUTPUT), *cell.outputs]


def restore_locked(notebook: NotebookNode, cells: Mapping[str, StoredCell]) -> None:
    """Like nbgrader's OverwriteCells: locked cells get the instructor's text and rubric."""
    for cell in notebook.cells:
        own = cell.metadata.get("nbgrader", {})
        stored = cells.get(own.get("grade_id"))
        if stored is not None:
            own["checksum"] = stored.checksum
            if stored.locked:
                cell.source = stored.source


def comments(grades: Grades, written: Mapping[str, WrittenRecord]) -> dict[str, str | None]:
    """The automatic comment on every answer: the verdict in words, or that there is no answer."""
    found: dict[str, str | None] = {
        name: None if answer.answered else "No response." for name, answer in written.items()
    }
    return found | {answer.exercise: outputs.comment_on(answer) for answer in grades.answers}
