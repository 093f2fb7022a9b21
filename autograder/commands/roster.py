"""autograder roster: show who is matched to whom, before anything is graded."""

import tempfile
from pathlib import Path

import click

from autograder.course_files import CourseError
from autograder.intake import RosterError
from autograder.wording import counted


@click.command(name="roster", short_help="Show who is matched to whom, before grading.")
@click.argument("submissions", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--roster",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A CSV with the students' ids and names (default: roster.csv of the course).",
)
@click.option(
    "--course",
    type=click.Path(path_type=Path),
    default=Path("."),
    help="The course directory (default: the current folder).",
)
@click.option("--db", help="The gradebook's address, if it is not the course's own.")
@click.option(
    "--merge",
    "merges",
    multiple=True,
    metavar="OLD=NEW",
    help="Move everything stored under OLD to NEW.",
)
@click.option(
    "--remove",
    "removed",
    multiple=True,
    metavar="ID",
    help="Remove ID and everything stored under it.",
)
def command(submissions, roster, course, db, merges, removed):
    """Show which student on the roster each of SUBMISSIONS is matched to. Nothing is graded.

    Everybody who can't be matched gets a line in who_is_who.csv: enter the student's id there, and
    grading will use it. Ids that are only in the gradebook can be merged or removed.
    """
    path = roster or course / "roster.csv"
    if not path.is_file():
        raise click.ClickException(f"There is no roster {path}. Name one with --roster.")
    try:
        if merges or removed:
            mend(course, db, merges, removed, path)
        if submissions:
            show_matches(course, submissions, path)
        elif not (merges or removed):
            raise CourseError(
                "Name what was handed in: a folder, or the zip from your learning system."
            )
        show_strangers(course, db, path)
    except (CourseError, RosterError, FileNotFoundError) as problem:
        raise click.ClickException(str(problem)) from None


def show_matches(course: Path, submissions: tuple[Path, ...], path: Path) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from autograder.grading.releases import release_names
    from autograder.intake import find_files, read_roster
    from autograder.whole_class.people import WHO_IS_WHO, matches, write_who_is_who

    people, settled = read_roster(path), course / WHO_IS_WHO
    with tempfile.TemporaryDirectory(prefix="handed-in-") as scratch:
        found = find_files(
            submissions,
            release_names(),
            Path(scratch),
            path,
            settled=settled if settled.is_file() else None,
        )
    lines = matches(found, people)
    table = Table()
    for title in ("handed in", "student", "name on the roster", "look at"):
        table.add_column(title, overflow="fold")
    for line in lines:
        note = "" if line.sure else line.doubt or "not on the roster"
        table.add_row(*map(escape, (line.handed_in, line.student, line.name, note)))
    console = Console()
    console.print(table)
    unsure = [line for line in lines if not line.sure]
    there = {line.student for line in lines}
    missing = [person.id for person in people if person.id not in there]
    console.print(f"{len(lines) - len(unsure)} of {counted(len(lines), 'sender')} matched.")
    if missing:
        console.print(f"Nothing handed in: {', '.join(map(escape, missing))}.")
    if unsure:
        write_who_is_who(course, unsure)
        console.print(
            f"{settled} has a line for each of the {counted(len(unsure), 'other')}: enter the id "
            "under `student`, then grade. What you leave blank is graded under the id shown above."
        )


def show_strangers(course: Path, db: str | None, path: Path) -> None:
    """Print the gradebook's ids that are not on the roster, with the command for each decision."""
    from autograder.intake import read_roster
    from autograder.nbgrader_parts.backups import sqlite_path
    from autograder.nbgrader_parts.database import gradebook_url
    from autograder.whole_class.people import strangers

    url = gradebook_url(course, db)
    file = sqlite_path(url)
    if file is not None and not file.is_file():
        return
    found = strangers(url, read_roster(path))
    if found:
        click.echo(
            f"In the gradebook but not on the roster: {', '.join(found)}.\n"
            f"  autograder roster --merge {found[0]}=ID    if that is somebody else's old id\n"
            f"  autograder roster --remove {found[0]}      if it is nobody"
        )


def mend(course: Path, db: str | None, merges, removed, path: Path) -> None:
    from autograder.instructor.course import open_course
    from autograder.intake import read_roster
    from autograder.whole_class.course_directory import only_writer
    from autograder.whole_class.people import apply, forget, moves_of

    opened = open_course(course, db)
    known = {person.id for person in read_roster(path)}
    wanted = [(text.partition("=")[0], text.partition("=")[2]) for text in merges]
    for old, new in wanted:
        if new not in known:
            raise CourseError(f"--merge {old}={new}: the roster has nobody called {new!r}.")
    with only_writer(opened.root):
        for old, new in [*wanted, *((student, "") for student in removed)]:
            moves = moves_of(opened.db_url, old, new)
            apply(opened.root, opened.db_url, moves, known)
            if old not in known:
                forget(opened.db_url, old)
            what = f"became {new}" if new else "was removed"
            click.echo(f"{old} {what}: {counted(len(moves), 'submission')}.")
