"""Grades a class: intake, box and judge for each submission, and one writer for the results."""

from __future__ import annotations

import contextlib
import errno
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from sqlalchemy.exc import OperationalError

from autograder.box import Box, Limits, folders
from autograder.box.choice import NAMESPACES, NO_WALL
from autograder.course_files import CourseError, write_atomically
from autograder.grading import archive, record
from autograder.grading.grade import draw_seeds
from autograder.grading.reading import Readers
from autograder.grading.record import Flag, Problem, RunRecord, SubmissionRecord
from autograder.grading.releases import release_names, release_of
from autograder.grading.student import Finished, Setting, fingerprint_of, unread
from autograder.grading.what_to_run import checked_exercises, modules_for
from autograder.intake import HandedIn, Student, find_files, read_roster
from autograder.intake.files import Opening
from autograder.nbgrader_parts.backups import back_up
from autograder.nbgrader_parts.configuration import own_settings
from autograder.nbgrader_parts.database import gradebook_url, stored_cells
from autograder.nbgrader_parts.follow import Following
from autograder.nbgrader_parts.gradebook import Entry, GradebookWriter
from autograder.nbgrader_parts.late import refresh_penalties
from autograder.whole_class import workers
from autograder.whole_class.course_directory import only_writer, prepare_course
from autograder.whole_class.following import Agree, NotAgreed, always
from autograder.whole_class.history import why_older, with_history
from autograder.whole_class.people import WHO_IS_WHO, ghosts
from autograder.whole_class.people import apply as move_people
from course_utils import register

BATCH = 40
BATCH_SECONDS = 3.0
NOBODY_CAN_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)


@dataclass(frozen=True)
class Options:
    """How to grade: everything that the command line can set."""

    assignment: str
    submissions: tuple[Path, ...]
    course: Path = Path(".")
    jobs: int = 2
    cluster: str | None = None
    without_tls: bool = False
    db: str | None = None
    only: tuple[str, ...] = ()
    roster: Path | None = None
    unsafe: bool = False
    limits: Limits = field(default_factory=Limits)
    older: bool = False  # an older file may replace a newer one
    agree: Agree = always  # is shown what changes for whom before a gradebook is updated


@dataclass(frozen=True)
class Progress:
    """The state of the run, reported after each submission."""

    done: int
    total: int
    problems: int
    student: str


Tell = Callable[[Progress], None]
Finish = Callable[[Iterator[HandedIn]], Iterator[workers.Done[Finished]]]


def grade_class(
    options: Options, tell: Tell = lambda progress: None, box: Box | None = None
) -> tuple[RunRecord, list[SubmissionRecord]]:
    """Grade every submission; returns the run and the records, in the order of the students.

    `box` may be one that was started before; it is closed at the end either way.

    Raises for what concerns the run itself (no such folder, no box, no gradebook). A submission
    that cannot be graded is flagged, and the others go on. If it is interrupted and started again,
    it carries on where it stopped.
    """
    started = time.monotonic()
    try:
        check_assignment(options.assignment)
        if options.cluster:
            workers.check_address(options.cluster, options.without_tls)
        elif box is None:
            box = Box(options.jobs, options.limits, options.unsafe)
            box.start()  # torch is imported there while we read the submissions here
        with contextlib.ExitStack() as until_the_end:
            readers = until_the_end.enter_context(Readers(options.unsafe))
            scratch = until_the_end.enter_context(folders.scratch())
            everybody = found_files(options, scratch, readers)
            handed_in = only_wanted(options, everybody)
            url = gradebook_url(options.course, options.db)
            until_the_end.enter_context(only_writer(options.course))
            back_up(options.course, url)
            prepare_course(options.course, options.assignment, url, options.agree)
            given = release_of(options.course, options.assignment)
            release = nbformat.reads(given, as_version=4)
            wall = box.wall if box is not None else NO_WALL if options.unsafe else NAMESPACES
            run = begin(options, release, len(handed_in), wall)
            if box is not None:
                box.also = modules_for(release)
            people = read_roster(options.roster) if options.roster else ()
            bring_people(options, url, everybody, people)
            config = own_settings(options.course)
            writer = GradebookWriter(url, options.assignment, config, people, options.course)
            until_the_end.callback(writer.close)
            cells = stored_cells(url, options.assignment)
            setting = Setting(run.run, options.assignment, run.seeds, cells, given, register.used())
            finish = finisher(options, setting, readers, box)
            results = grade_all(options, setting, handed_in, finish, writer, tell)
            with Gradebook(url) as gradebook:
                refresh_penalties(gradebook, config, [options.assignment], options.course)
            seconds = round(run.seconds + time.monotonic() - started, 2)
            run = ended(run, results, seconds)
            archive.write_run(options.course, run)
            return run, results
    finally:
        if box is not None:
            box.close()


def check_assignment(name: str) -> None:
    known = release_names()
    if name not in known:
        raise CourseError(f"There is no assignment called {name}. There are: {', '.join(known)}.")


def found_files(options: Options, scratch: Path, readers: Readers) -> list[HandedIn]:
    """What was handed in, by student, not read yet."""
    settled = options.course / WHO_IS_WHO
    found = find_files(
        options.submissions,
        release_names(),
        scratch,
        options.roster,
        settled if settled.is_file() else None,
        partial(Opening, unzip=readers.unzip, open_zip=readers.open_zip),
    )
    return found


def only_wanted(options: Options, found: list[HandedIn]) -> list[HandedIn]:
    if options.only:
        unknown = set(options.only) - {one.student for one in found}
        if unknown:
            raise CourseError(
                f"Nothing was handed in by {', '.join(sorted(unknown))}. Look at the names in "
                f"{', '.join(map(str, options.submissions))}."
            )
        found = [one for one in found if one.student in options.only]
    return found


def bring_people(
    options: Options, url: str, handed_in: Sequence[HandedIn], people: Sequence[Student]
) -> None:
    """Move everything under a sender's old id to the id that the roster now gives."""
    records = archive.records(options.course, options.assignment)
    moves = ghosts(options.assignment, records, handed_in)
    if not moves:
        return
    if not options.agree(Following(options.assignment, tuple(map(str, moves)), (), 0.0, 0.0)):
        raise NotAgreed
    move_people(options.course, url, moves, {person.id for person in people})


def begin(options: Options, release: NotebookNode, submissions: int, wall: str) -> RunRecord:
    """A new run with fresh seeds, or the interrupted one with its own."""
    exercises = checked_exercises(release)
    fresh = record.new_run(
        options.assignment, draw_seeds(exercises), wall, options.cluster or "local"
    )
    run = archive.unfinished_run(options.course, options.assignment)
    if run is None or set(run.seeds) != set(exercises) or run.isolation != fresh.isolation:
        run = fresh
    run = replace(run, submissions=submissions)
    archive.write_run(options.course, run)
    return run


def ended(run: RunRecord, results: Sequence[SubmissionRecord], seconds: float) -> RunRecord:
    """The run, with its results."""
    return replace(
        run,
        graded=sum(entry.graded for entry in results),
        flagged=sum(not entry.graded for entry in results),
        problems=tuple(Problem(r.student, str(flag)) for r in results for flag in r.flags),
        finished=record.now(),
        seconds=seconds,
    )


def grade_all(
    options: Options,
    setting: Setting,
    handed_in: Sequence[HandedIn],
    finish: Finish,
    writer: GradebookWriter,
    tell: Tell,
) -> list[SubmissionRecord]:
    """Grade what this run has not graded yet, and store it in batches."""
    results: dict[int, SubmissionRecord] = {}
    to_grade: list[int] = []
    waiting: list[tuple[int, Finished]] = []
    problems = 0
    written_at = time.monotonic()

    def count(index: int, entry: SubmissionRecord) -> None:
        nonlocal problems
        results[index] = entry
        problems += len(entry.flags)
        tell(Progress(len(results), len(handed_in), problems, entry.student))

    def store() -> None:
        nonlocal written_at
        for index, entry in store_batch(options, waiting, writer):
            results[index] = entry
        waiting.clear()
        written_at = time.monotonic()

    for index, one in enumerate(handed_in):
        before = archive.read_record(options.course, options.assignment, one.student)
        in_this_run = before is not None and before.run == setting.run
        if before and in_this_run and before.handed_in == fingerprint_of(one.read()):
            count(index, before)
        else:
            to_grade.append(index)

    try:
        work = (handed_in[index] for index in to_grade)
        for position, item in finish(work):
            index = to_grade[position]
            if isinstance(item, BaseException):
                item = unread(handed_in[index].read(), setting, str(item))
            before = archive.read_record(options.course, options.assignment, item.record.student)
            older = why_older(item.record, before)
            if older and before is not None and not options.older:
                count(index, left_alone(before, older))
                continue
            item = replace(item, record=with_history(item.record, before, bool(older)))
            waiting.append((index, item))
            count(index, item.record)
            if len(waiting) >= BATCH or time.monotonic() - written_at > BATCH_SECONDS:
                store()
    finally:
        store()  # also after Ctrl-C: what is done is kept
    return [results[index] for index in sorted(results)]


def finisher(options: Options, setting: Setting, readers: Readers, box: Box | None) -> Finish:
    """What grades the submissions: workers here or on a cluster.

    Each is read when its turn comes, so that memory stays flat however long the class is.
    """
    if options.cluster:
        address = options.cluster
        return lambda tasks: workers.finish_on_cluster(
            (one.read() for one in tasks), setting, address, options.unsafe
        )
    assert box is not None
    readers.prepare(setting)  # while the box is still starting
    box.wait()
    work = partial(readers.finish, setting=setting, box=box)
    return lambda tasks: workers.side_by_side(work, tasks, options.jobs)


def left_alone(before: SubmissionRecord, why: str) -> SubmissionRecord:
    """Keep the record, and add a line to this run's list: the new file is older."""
    said = f"An older file was left alone: {why} To grade it anyway, use --older."
    return replace(before, flags=(*before.flags, Flag("grader", said)))


def store_batch(
    options: Options, items: Sequence[tuple[int, Finished]], writer: GradebookWriter
) -> Iterator[tuple[int, SubmissionRecord]]:
    """Store them together or, if that fails, one by one; returns the records as stored."""
    try:
        store(options, [item for _, item in items], writer)
        return
    except Exception as problem:
        if machine_failed(problem):
            raise
    for index, item in items:
        try:
            store(options, [item], writer)
        except Exception as problem:
            if machine_failed(problem):
                raise
            yield index, keep_aside(options.course, item, problem)


def machine_failed(problem: Exception) -> bool:
    """Whether nothing at all can be stored: the disk is full, or the gradebook unreachable."""
    if isinstance(problem, OSError):
        return problem.errno in NOBODY_CAN_WRITE
    return isinstance(problem, OperationalError) or isinstance(problem.__cause__, OperationalError)


def keep_aside(course: Path, item: Finished, problem: Exception) -> SubmissionRecord:
    """Flag a submission that the gradebook or the file system refuses, and keep its bytes."""
    reason = Flag("grader", f"It could not be stored: {type(problem).__name__}: {problem}"[:500])
    entry = replace(item.record, status="flagged", exercises=(), flags=(*item.record.flags, reason))
    content = item.original or item.submitted
    if content is not None:
        archive.write_original(course, entry, content)
    archive.write_record(course, entry)
    return entry


def store(options: Options, items: Sequence[Finished], writer: GradebookWriter) -> None:
    """Notebooks first, then the gradebook in one transaction, last the records.

    A record means that a submission is done, so it comes last: whatever is interrupted before it
    is simply graded again.
    """
    for item in items:
        if item.original is not None:
            archive.write_original(options.course, item.record, item.original)
        write_notebooks(options.course, item)
    if items:
        writer.write([gradebook_entry(options.course, item) for item in items])
    for item in items:
        archive.write_record(options.course, item.record)


def write_notebooks(course: Path, item: Finished) -> None:
    """The notebook before and after grading, in nbgrader's folders."""
    name, student = item.record.assignment, archive.folder_name(item.record.student)
    for kind, content in (("submitted", item.submitted), ("autograded", item.autograded)):
        if content is None:
            continue
        folder = course / kind / student / name
        write_atomically(folder / f"{name}.ipynb", content)
        if item.record.timestamp is not None:
            stamp = item.record.timestamp.isoformat(sep=" ")
            write_atomically(folder / "timestamp.txt", stamp.encode())


def gradebook_entry(course: Path, item: Finished) -> Entry:
    """What to store in the gradebook; marks by hand depend on what was handed in before."""
    before = archive.read_record(course, item.record.assignment, item.record.student)
    return Entry(item.record, item.scores, item.comments, before, item.record.timestamp)
