"""autograder regrade: judge stored submissions again, and show which points changed."""

import os

import click

from autograder.course_files import CourseError
from autograder.instructor.course import assignments_in, open_course, open_gradebook
from autograder.nbgrader_parts.configuration import own_settings
from autograder.nbgrader_parts.late import refresh_penalties
from autograder.wording import counted


@click.command(name="regrade", short_help="Judge stored submissions again.")
@click.argument("assignment")
@click.option("--student", "students", multiple=True, help="Only this student (may be repeated).")
@click.option(
    "--exercise", "exercises", multiple=True, help="Only this exercise (may be repeated)."
)
@click.option("--course", default=".", help="The course directory (default: the current folder).")
@click.option("--db", help="The gradebook's address, if it is not the course's own.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    default=lambda: os.cpu_count() or 1,
    help="How many submissions to judge at a time.  [default: one per core]",
)
@click.option("--same-seeds", is_flag=True, help="Ask the questions of the last run, not new ones.")
@click.option("--dry-run", is_flag=True, help="Show what would change, but change no points.")
@click.option(
    "--yes",
    is_flag=True,
    help="Don't ask before the gradebook is updated to new points or exercises.",
)
@click.option("--unsafe", is_flag=True, help="Run submissions without isolation.")
def command(assignment, students, exercises, course, db, jobs, same_seeds, dry_run, yes, unsafe):
    """Judge the stored submissions of ASSIGNMENT again.

    Use it after a check, points or exercises have changed, or when a student asks.
    """
    from rich.console import Console

    from autograder.agreement import asker
    from autograder.box import BoxUnavailable
    from autograder.instructor.regrade import regrade
    from autograder.whole_class.following import NotAgreed

    try:
        opened = open_course(course, db)
        with open_gradebook(opened) as gradebook:
            assignments_in(gradebook, (assignment,))
        done = regrade(
            opened,
            assignment,
            students,
            exercises,
            jobs=jobs,
            unsafe=unsafe,
            same_seeds=same_seeds,
            agree=asker(Console(stderr=True), yes and not dry_run, ask=not dry_run),
            dry_run=dry_run,
        )
        with open_gradebook(opened) as gradebook:
            refresh_penalties(gradebook, own_settings(opened.root), [assignment], opened.root)
    except NotAgreed as problem:
        if not dry_run:
            raise click.ClickException(str(problem)) from None
        click.echo("Nothing was written. To judge the answers again with these points, use --yes.")
        return
    except (BoxUnavailable, CourseError) as problem:
        raise click.ClickException(str(problem)) from None
    show(done, "would change" if dry_run else "changed")


def show(done, word: str) -> None:
    """Print whose points changed, from what and to what."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    changed = [change for change in done.changes if change.changed]
    judged = f"Judged again: {counted(len(done.changes), 'answer')} in {done.run.seconds:.1f} s."
    if not changed:
        console.print(f"{judged} No points {word}.")
    else:
        console.print(f"{judged} Points {word} for {counted(len(changed), 'answer')}:")
        table = Table()
        titles = ["student", "exercise", "from", "to"]
        noted = any(change.by_hand is not None for change in changed)
        for title in titles + ["mark by hand"] * noted:
            table.add_column(title, justify="right" if title in ("from", "to") else "left")
        for change in changed:
            row = [escape(change.student), change.exercise]
            row += [f"{change.before:g}", f"{change.after:g}"]
            stays = (
                "" if change.by_hand is None else f"{change.by_hand:g} is kept; look at it again"
            )
            table.add_row(*row, *[stays] * noted)
        console.print(table)
    for problem in done.run.problems:
        console.print(escape(f"{problem.student}: {problem.message}"))
