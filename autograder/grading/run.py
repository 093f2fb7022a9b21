"""Grades a class: intake, box and judge for each submission, one writer for what comes of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nbformat import NotebookNode

from autograder.box import Box, Limits
from autograder.grading import clean, course, record, workers
from autograder.grading.answers import checked_exercises, modules_for
from autograder.grading.grade import (
    Grades,
    Task,
    as_records,
    draw_seeds,
    prepare_questions,
    written_answers,
)
from autograder.grading.gradebook import Entry, GradebookWriter
from autograder.grading.outputs import comment_on, write_verdicts
from autograder.grading.record import Run
from autograder.grading.releases import all_releases, read_release
from autograder.intake import Submission, collect, read_roster

BATCH = 40
BATCH_SECONDS = 3.0


@dataclass(frozen=True)
class Options:
    """How to grade: everything that the command line can say."""

    assignment: str
    submissions: tuple[Path, ...]
    course: Path = Path(".")
    jobs: int = 2
    cluster: str | None = None
    db: str | None = None
    only: tuple[str, ...] = ()
    roster: Path | None = None
    unsafe: bool = False
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Progress:
    """Told after each submission."""

    done: int
    total: int
    problems: int
    student: str


def grade_class(
    options: Options,
    tell: Callable[[Progress], None] = lambda progress: None,
    box: Box | None = None,
) -> tuple[Run, list[dict]]:
    """Grade every submission; the run and the verdict records, in the order of the students.

    `box` may be one that was started before; it is closed at the end either way.

    Raises for what concerns the run itself (no such folder, no box, no gradebook). A submission
    that cannot be graded is flagged, and the others go on. Interrupted and started again, it
    goes on where it stopped.
    """
    started = time.monotonic()
    try:
        release = read_release(options.assignment)
        if release is None:
            known = ", ".join(all_releases())
            raise course.CourseError(
                f"There is no assignment called {options.assignment}. There are: {known}."
            )
        if options.cluster:
            workers.check_address(options.cluster)
        elif box is None:
            box = Box(options.jobs, options.limits, options.unsafe)
            box.start()  # torch is imported there while we read the submissions here
        handed_in = collected(options)
        url = course.gradebook_url(options.course, options.db)
        with course.only_writer(options.course):
            course.prepare(options.course, options.assignment, url)
            run = begin(options, release, len(handed_in))
            if box is not None:
                box.also = modules_for(release)
                prepare_questions(run.seeds)  # while the box is still starting
                box.wait()
            writer = GradebookWriter(
                url,
                options.assignment,
                course.course_config(options.course),
                read_roster(options.roster) if options.roster else (),
            )
            try:
                results = _grade_all(options, run, handed_in, box, url, writer, tell)
            finally:
                writer.close()
            run.finished = record.now()
            run.seconds = round(run.seconds + time.monotonic() - started, 2)
            record.write_run(options.course, run)
            return run, results
    finally:
        if box is not None:
            box.close()


def collected(options: Options) -> list[Submission]:
    """What was handed in, by student; several assignments in one folder are told apart."""
    found = collect(options.submissions, all_releases(), options.roster)
    if options.only:
        unknown = set(options.only) - {submission.student for submission in found}
        if unknown:
            raise course.CourseError(
                f"Nothing was handed in by {', '.join(sorted(unknown))}. Look at the names in "
                f"{', '.join(map(str, options.submissions))}."
            )
        found = [submission for submission in found if submission.student in options.only]
    return found


def begin(options: Options, release: NotebookNode, submissions: int) -> Run:
    """A new run with fresh seeds, or the one that was interrupted with those it had."""
    exercises = checked_exercises(release)
    isolation = "none" if options.unsafe else "box"
    where = options.cluster or "local"
    run = record.unfinished_run(options.course, options.assignment)
    if run is None or set(run.seeds) != set(exercises) or run.isolation != isolation:
        seeds = {exercise: list(drawn) for exercise, drawn in draw_seeds(exercises).items()}
        run = record.new_run(options.assignment, seeds, isolation, where)
    run.submissions, run.problems, run.graded, run.flagged = submissions, [], 0, 0
    record.write_run(options.course, run)
    return run


@dataclass(frozen=True)
class Finished:
    """One submission on its way to the files and the gradebook."""

    submission: Submission
    verdict: dict
    entry: Entry
    submitted: bytes | None = None
    autograded: bytes | None = None


def _grade_all(
    options: Options,
    run: Run,
    handed_in: Sequence[Submission],
    box: Box | None,
    url: str,
    writer: GradebookWriter,
    tell: Callable[[Progress], None],
) -> list[dict]:
    cells = course.stored_cells(url, options.assignment)
    trusted = clean.texts_of(read_release(options.assignment))
    results: dict[int, dict] = {}
    to_grade: list[tuple[int, Submission]] = []
    waiting: list[Finished] = []
    written_at = time.monotonic()

    def count(index: int, verdict: dict) -> None:
        results[index] = verdict
        if verdict["status"] == "graded":
            run.graded += 1
        else:
            run.flagged += 1
        for flag in verdict["flags"]:
            run.problems.append({"student": verdict["student"], "message": flag})
        tell(Progress(len(results), len(handed_in), len(run.problems), verdict["student"]))

    def store() -> None:
        nonlocal written_at
        if waiting:
            store_batch(options, waiting, writer)
            waiting.clear()
        written_at = time.monotonic()

    for index, submission in enumerate(handed_in):
        before = record.read_json(
            record.verdict_path(options.course, options.assignment, submission.student)
        )
        fingerprint = record.fingerprint(submission.original)
        done = before is not None and before["run"] == run.run
        if done and before["sha256"] == fingerprint:
            count(index, before)
        elif submission.notebook is None or submission.assignment != options.assignment:
            item = flagged(run, submission)
            waiting.append(item)
            count(index, item.verdict)
        else:
            to_grade.append((index, submission))

    try:
        for position, grades in _graded(options, run, to_grade, box):
            index, submission = to_grade[position]
            if isinstance(grades, BaseException):
                item = flagged(run, submission, f"It could not be graded: {grades}")
            else:
                before = record.read_json(
                    record.verdict_path(options.course, options.assignment, submission.student)
                )
                item = graded(run, submission, grades, before, cells, trusted)
            waiting.append(item)
            count(index, item.verdict)
            if len(waiting) >= BATCH or time.monotonic() - written_at > BATCH_SECONDS:
                store()
    finally:
        store()  # also after Ctrl-C: what is done is kept
    return [results[index] for index in sorted(results)]


def _graded(
    options: Options, run: Run, to_grade: list[tuple[int, Submission]], box: Box | None
) -> Iterator[workers.Graded]:
    seeds = {exercise: tuple(drawn) for exercise, drawn in run.seeds.items()}
    tasks = (
        Task(s.student, s.assignment, record.notebook_bytes(s.notebook), seeds) for _, s in to_grade
    )
    if box is None:
        return workers.grade_on_cluster(tasks, options.cluster, options.unsafe)
    return workers.grade_here(tasks, options.jobs, box)


def about(run: Run, submission: Submission) -> dict:
    """The part of a verdict record that every submission has."""
    when = submission.timestamp
    return {
        "format": record.FORMAT,
        "run": run.run,
        "student": submission.student,
        "assignment": run.assignment,
        "source_name": submission.source_name,
        "timestamp": when.isoformat() if when else None,
        "sha256": record.fingerprint(submission.original),
        "repairs": list(submission.repairs),
        "flags": list(submission.flags),
    }


def flagged(run: Run, submission: Submission, reason: str = "") -> Finished:
    """A submission that a person must look at: it gets no grade, and is never dropped."""
    verdict = {
        **about(run, submission),
        "status": "flagged",
        "points": 0.0,
        "max_points": 0.0,
        "seconds": 0.0,
        "exercises": [],
        "written": {},
        "printed": "",
    }
    if not reason and submission.notebook is not None:
        reason = f"It is {submission.assignment}, not {run.assignment}."
    if reason:
        verdict["flags"].append(reason)
    return Finished(submission, verdict, Entry(submission.student, {}, {}, graded=False))


def graded(
    run: Run,
    submission: Submission,
    grades: Grades,
    before: dict | None,
    cells: dict,
    trusted: frozenset[str],
) -> Finished:
    """Verdict record, gradebook entry and the two notebooks of one submission."""
    submitted = record.notebook_bytes(submission.notebook)
    notebook = clean.clean_notebook(submission.notebook, trusted)
    course.restore_locked(notebook, cells)
    write_verdicts(notebook, grades)
    written = written_answers(notebook)
    verdict = {
        **about(run, submission),
        "status": "graded",
        "points": grades.points,
        "max_points": grades.max_points,
        "seconds": grades.seconds,
        "exercises": as_records(grades, run.seeds),
        "written": written,
        "printed": grades.printed,
    }
    for answer in grades.answers:
        if answer.box not in ("ok", "timeout", "memory"):
            verdict["flags"].append(f"{answer.verdict.exercise}: {answer.message}")
    entry = Entry(
        submission.student,
        scores(notebook, grades),
        comments(notebook, grades, written),
        written,
        before,
        submission.timestamp,
    )
    autograded = record.notebook_bytes(notebook)
    return Finished(submission, verdict, entry, submitted, autograded)


def scores(notebook: NotebookNode, grades: Grades) -> dict[str, float | None]:
    """The automatic score of every graded cell; None where a person has to read."""
    from nbgrader.utils import determine_grade, is_grade

    return {
        cell.metadata.nbgrader["grade_id"]: determine_grade(cell)[0]
        for cell in notebook.cells
        if is_grade(cell)
    }


def comments(
    notebook: NotebookNode, grades: Grades, written: dict[str, dict]
) -> dict[str, str | None]:
    """The automatic comment of every answer: the verdict in words, or that there is none."""
    found: dict[str, str | None] = {}
    for name, answer in written.items():
        found[name] = None if answer["answered"] else "No response."
    for answer in grades.answers:
        found[answer.verdict.exercise] = comment_on(answer)
    return found


def store_batch(options: Options, items: Sequence[Finished], writer: GradebookWriter) -> None:
    """Notebooks first, then the gradebook in one transaction, last the records.

    A record says that a submission is done, so it comes last: whatever is interrupted before it
    is simply graded again.
    """
    for item in items:
        submission, name = item.submission, options.assignment
        student = record.folder_name(submission.student)
        if item.verdict["repairs"] or item.verdict["flags"]:
            path = record.original_path(
                options.course, name, submission.student, submission.source_name
            )
            record.write_atomically(path, submission.original)
        for kind, content in (("submitted", item.submitted), ("autograded", item.autograded)):
            if content is None:
                continue
            folder = options.course / kind / student / name
            record.write_atomically(folder / f"{name}.ipynb", content)
            if submission.timestamp is not None:
                stamp = submission.timestamp.isoformat(sep=" ")
                record.write_atomically(folder / "timestamp.txt", stamp.encode())
    writer.write([item.entry for item in items])
    for item in items:
        path = record.verdict_path(options.course, options.assignment, item.submission.student)
        record.write_json(path, item.verdict)
