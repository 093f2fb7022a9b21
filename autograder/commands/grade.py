"""autograder grade: grade a whole class in parallel and store it in nbgrader's gradebook."""

import gc
import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path

import click

from autograder.wording import counted


@click.command(name="grade", short_help="Grade a whole class.")
@click.argument("assignment")
@click.argument("submissions", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--course",
    type=click.Path(path_type=Path),
    default=Path("."),
    show_default=True,
    help="The course directory, with the gradebook and the graded notebooks.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    default=lambda: os.cpu_count() or 1,
    help="How many submissions to grade at a time.  [default: one per core]",
)
@click.option("--cluster", metavar="ADDRESS", help="A dask scheduler: tls://host:port.")
@click.option("--without-tls", is_flag=True, help="Accept a scheduler without TLS on this machine.")
@click.option("--db", metavar="URL", help="The gradebook's address, if it is not the course's own.")
@click.option(
    "--only", multiple=True, metavar="STUDENT", help="Only this student (may be repeated)."
)
@click.option(
    "--roster",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A CSV with the students' ids and names (default: roster.csv of the course).",
)
@click.option("--older", is_flag=True, help="Let an older file replace a newer one.")
@click.option(
    "--yes",
    is_flag=True,
    help="Don't ask before the gradebook is updated to new points or exercises.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--unsafe", is_flag=True, help="Run submissions without isolation.")
def command(
    assignment,
    submissions,
    course,
    jobs,
    cluster,
    without_tls,
    db,
    only,
    roster,
    older,
    yes,
    as_json,
    unsafe,
):
    """Grade ASSIGNMENT from SUBMISSIONS: folders, notebooks, or a zip from the LMS.

    After an interruption, the same command carries on where it stopped.
    """
    from autograder.box import Box, BoxUnavailable
    from autograder.box.choice import OTHER_USER
    from autograder.grading.light_start import without_servers

    # the box takes seconds to import torch, so it starts before we import anything ourselves
    box = None if cluster else Box(jobs, unsafe=unsafe)
    try:
        if box is not None:
            box.start()
    except BoxUnavailable as problem:
        raise click.ClickException(str(problem)) from None
    gc.disable()  # modules are never garbage: searching them for it takes a tenth of the time
    without_servers()
    from rich.console import Console

    from autograder.agreement import asker
    from autograder.course_files import CourseError, why_not_written
    from autograder.intake import RosterError
    from autograder.whole_class.grade_class import Options, grade_class
    from autograder.whole_class.workers import ClusterRefused

    gc.freeze()
    gc.enable()
    console = Console(stderr=True)
    if roster is None and (course / "roster.csv").is_file():
        roster = course / "roster.csv"
    options = Options(
        assignment, submissions, course, jobs, cluster, without_tls, db, only, roster, unsafe
    )
    options = replace(options, older=older, agree=asker(console, yes))
    if unsafe:
        console.print(
            "Without isolation: a submission can read and change whatever you can.",
            style="bold red",
        )
    if box is not None and box.wall == OTHER_USER:
        console.print(
            "No namespaces here: each submission runs as another user, in its own root folder."
        )
    if box is not None and not box.has_groups:
        console.print(f"Memory and processes of submissions are {box.counting}.", style="dim")
    try:
        with progress_bar(console) as tell:
            run, records = grade_class(options, tell, box)
    except (BoxUnavailable, CourseError, ClusterRefused, RosterError, FileNotFoundError) as problem:
        raise click.ClickException(str(problem)) from None
    except OSError as problem:
        raise click.ClickException(f"The run failed: {why_not_written(problem)}") from problem
    except RuntimeError as problem:
        raise click.ClickException(f"The run failed: {problem}") from problem
    except KeyboardInterrupt:
        console.print("Stopped. What was graded is stored; the same command carries on from there.")
        sys.exit(130)
    show_times(console, options, records)
    if as_json:
        click.echo(json.dumps({**asdict(run), "results": [brief(entry) for entry in records]}))
    else:
        show(Console(), run, records)


def show_times(console, options, records) -> None:
    """Add a line to times.csv for late marks without a time; report lines that match no student."""
    from nbgrader.api import Gradebook

    from autograder.intake.collect import CANVAS_LATE
    from autograder.nbgrader_parts.database import gradebook_url
    from autograder.nbgrader_parts.times import FILE, add_to_decide, timetable

    late = [r.student for r in records if CANVAS_LATE in r.repairs and r.timestamp is None]
    add_to_decide(options.course, options.assignment, late, "Canvas marks it as late")
    table = timetable(options.course)
    with Gradebook(gradebook_url(options.course, options.db)) as gradebook:
        known = [student.id for student in gradebook.students]
    for problem in table.problems(known):
        console.print(problem, markup=False)
    waiting = table.undecided(options.assignment)
    if waiting:
        console.print(
            f"Canvas marks these as late, without a time: {', '.join(waiting)}. {FILE} has a line for "
            "each: fill in handed_in_at, or write yes under excused. Until then nothing is deducted.",
            markup=False,
        )


class progress_bar:
    """Show the count, the time left and the problems so far on a terminal, and nothing elsewhere."""

    def __init__(self, console):
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self.bar = Progress(
            TextColumn("grading"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[problems]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self.task = self.bar.add_task("grading", total=None, problems="")

    def __enter__(self):
        self.bar.start()
        return self.tell

    def __exit__(self, *exception):
        self.bar.stop()

    def tell(self, progress) -> None:
        said = f"{progress.problems} to look at" if progress.problems else "no problems"
        self.bar.update(self.task, completed=progress.done, total=progress.total, problems=said)


def brief(record) -> dict:
    """One entry of the JSON: who, how many points, and what a person should know."""
    return {
        "student": record.student,
        "status": record.status,
        "points": record.points,
        "max_points": record.max_points,
        "repairs": record.repairs,
        "flags": [str(flag) for flag in record.flags],
        "seconds": record.seconds,
        "exercises": {e.exercise: e.points for e in record.exercises},
        "misconceptions": {
            e.exercise: e.misconception for e in record.exercises if e.misconception
        },
    }


def outcome(run, records) -> str:
    """How many were graded and how many a person should look at, graded or not."""
    flagged = sum(bool(entry.flags) for entry in records)
    return f"{run.graded} graded, {run.flagged} not graded, {flagged} flagged for a person"


def show(console, run, records) -> None:
    """The summary on the screen."""
    from rich.markup import escape
    from rich.table import Table

    each = run.seconds / max(1, run.submissions)
    table = Table(
        title=f"{run.assignment}: {counted(run.submissions, 'submission')}", title_justify="left"
    )
    table.add_column("exercise")
    table.add_column("mean", justify="right")
    table.add_column("full marks", justify="right")
    table.add_column("most common mistake")
    for exercise in run.seeds:
        rows = [e for record in records for e in record.exercises if e.exercise == exercise]
        if not rows:
            continue
        mean = sum(e.points for e in rows) / len(rows)
        full = sum(e.passed for e in rows)
        mistakes = [e.misconception for e in rows if e.misconception]
        common = max(sorted(set(mistakes)), key=mistakes.count, default="")
        said = f"{common} ({mistakes.count(common)})" if common else ""
        worth = rows[0].max_points
        table.add_row(exercise, f"{mean:.2f} of {worth:g}", f"{full} of {len(rows)}", said)
    console.print(table)
    waiting = sum(a.answered for record in records for a in record.written.values())
    console.print(
        f"{outcome(run, records)}, in {run.seconds:.1f} s ({each:.3f} s each); "
        f"{counted(waiting, 'written answer')} to mark: `autograder mark`."
    )
    repaired = sum(bool(record.repairs) for record in records)
    if repaired:
        console.print(f"Repaired: {counted(repaired, 'notebook')}.")
    if run.problems:
        console.print(f"{counted(len(run.problems), 'thing')} to look at:")
        for problem in run.problems[:20]:
            console.print(f"  {escape(problem.student)}: {escape(problem.message)}")
        if len(run.problems) > 20:
            console.print(
                f"  … and {len(run.problems) - 20} more in .autograder/runs/{run.run}.json"
            )
