"""Grades a class: intake, box and judge for each submission, one writer for what comes of it."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path

from nbformat import NotebookNode

from autograder.box import Box, Limits
from autograder.grading import course, record, workers
from autograder.grading.answers import checked_exercises, modules_for
from autograder.grading.grade import draw_seeds, prepare_questions
from autograder.grading.gradebook import Entry, GradebookWriter
from autograder.grading.record import Run
from autograder.grading.releases import all_releases, read_release
from autograder.grading.student import (
    Finished,
    Setting,
    complete,
    fingerprint_of,
    not_graded,
    prepare,
)
from autograder.intake import HandedIn, find_files, read_roster

BATCH = 40
BATCH_SECONDS = 3.0
AHEAD = 60  # submissions rebuilt while the box still starts


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
        with contextlib.ExitStack() as until_the_end:
            scratch = tempfile.TemporaryDirectory(prefix="handed-in-")
            handed_in = found_files(options, Path(until_the_end.enter_context(scratch)))
            url = course.gradebook_url(options.course, options.db)
            until_the_end.enter_context(course.only_writer(options.course))
            course.prepare(options.course, options.assignment, url)
            run = begin(options, release, len(handed_in))
            if box is not None:
                box.also = modules_for(release)
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


def found_files(options: Options, scratch: Path) -> list[HandedIn]:
    """What was handed in, by student, not read yet."""
    found = find_files(options.submissions, all_releases(), scratch, options.roster)
    if options.only:
        unknown = set(options.only) - {one.student for one in found}
        if unknown:
            raise course.CourseError(
                f"Nothing was handed in by {', '.join(sorted(unknown))}. Look at the names in "
                f"{', '.join(map(str, options.submissions))}."
            )
        found = [one for one in found if one.student in options.only]
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


def _grade_all(
    options: Options,
    run: Run,
    handed_in: Sequence[HandedIn],
    box: Box | None,
    url: str,
    writer: GradebookWriter,
    tell: Callable[[Progress], None],
) -> list[dict]:
    seeds = {exercise: tuple(drawn) for exercise, drawn in run.seeds.items()}
    cells = course.stored_cells(url, options.assignment)
    setting = Setting(run.run, options.assignment, seeds, cells)
    results: dict[int, dict] = {}
    to_grade: list[int] = []
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

    for index, one in enumerate(handed_in):
        before = last_verdict(options, one.student)
        in_this_run = before is not None and before["run"] == run.run
        if in_this_run and before.get("handed_in") == fingerprint_of(one.read()):
            count(index, before)
        else:
            to_grade.append(index)

    try:
        work = (handed_in[index] for index in to_grade)
        for position, item in _graded(options, setting, work, box):
            index = to_grade[position]
            if isinstance(item, BaseException):
                item = not_graded(handed_in[index].read(), setting, item)
            waiting.append(item)
            count(index, item.verdict)
            if len(waiting) >= BATCH or time.monotonic() - written_at > BATCH_SECONDS:
                store()
    finally:
        store()  # also after Ctrl-C: what is done is kept
    return [results[index] for index in sorted(results)]


def last_verdict(options: Options, student: str) -> dict | None:
    return record.read_json(record.verdict_path(options.course, options.assignment, student))


def _graded(
    options: Options, setting: Setting, to_grade: Iterator[HandedIn], box: Box | None
) -> Iterator[workers.Done]:
    """Each is read when its turn comes, so that memory stays flat however long the class is."""
    if box is None:
        read = (one.read() for one in to_grade)
        return workers.finish_on_cluster(read, setting, options.cluster, options.unsafe)
    prepare_questions(setting.seeds)  # while the box is still starting, as is what follows
    tasks = (prepare(one.read(), setting) for one in to_grade)
    ahead = list(islice(tasks, AHEAD))
    box.wait()
    work = partial(complete, setting=setting, box=box)
    return workers.side_by_side(work, chain(ahead, tasks), options.jobs)


def store_batch(options: Options, items: Sequence[Finished], writer: GradebookWriter) -> None:
    """Notebooks first, then the gradebook in one transaction, last the records.

    A record says that a submission is done, so it comes last: whatever is interrupted before it
    is simply graded again.
    """
    for item in items:
        name, student = options.assignment, record.folder_name(item.student)
        if item.original is not None:
            path = record.original_path(
                options.course, name, item.student, item.verdict["source_name"]
            )
            record.write_atomically(path, item.original)
        for kind, content in (("submitted", item.submitted), ("autograded", item.autograded)):
            if content is None:
                continue
            folder = options.course / kind / student / name
            record.write_atomically(folder / f"{name}.ipynb", content)
            if item.timestamp is not None:
                stamp = item.timestamp.isoformat(sep=" ")
                record.write_atomically(folder / "timestamp.txt", stamp.encode())
    writer.write([entry(options, item) for item in items])
    for item in items:
        path = record.verdict_path(options.course, options.assignment, item.student)
        record.write_json(path, item.verdict)


def entry(options: Options, item: Finished) -> Entry:
    """What the gradebook is to know; marks by hand depend on what was handed in before."""
    return Entry(
        item.student,
        item.scores,
        item.comments,
        item.verdict["written"],
        last_verdict(options, item.student),
        item.timestamp,
        graded=item.verdict["status"] == "graded",
    )
