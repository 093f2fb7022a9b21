"""autograder export: grades for Canvas, Moodle or a spreadsheet, in total or per exercise."""

from pathlib import Path

import click

from autograder.course_files import CourseError
from autograder.instructor.course import assignments_in, open_course, open_gradebook
from autograder.intake import RosterError
from autograder.nbgrader_parts.configuration import own_settings
from autograder.nbgrader_parts.exporters import EXPORTERS
from autograder.wording import counted


@click.command(name="export", short_help="Write grades for Canvas, Moodle or a spreadsheet.")
@click.argument("assignments", nargs=-1)
@click.option(
    "--format",
    "kind",
    type=click.Choice(sorted(EXPORTERS)),
    required=True,
    help="The system that will read the file; exercises has one column per exercise.",
)
@click.option("--course", default=".", help="The course directory (default: the current folder).")
@click.option("--db", help="The gradebook's address, if it is not the course's own.")
@click.option(
    "--roster",
    type=click.Path(path_type=Path),
    help="The students' ids and sections in the LMS (default: roster.csv of the course).",
)
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    help="The file to write (default: grades_FORMAT.csv of the course).",
)
@click.option(
    "--title",
    "titles",
    multiple=True,
    metavar="ASSIGNMENT=TITLE",
    help="What the LMS calls an assignment, such as '03_attention=Attention (98765)'.",
)
@click.option("--missing-as-zero", is_flag=True, help="Give 0 to students who submitted nothing.")
def command(assignments, kind, course, db, roster, to, titles, missing_as_zero):
    """Write the grades of ASSIGNMENTS (default: all) to a file that an LMS can import."""
    try:
        opened = open_course(course, db)
        # what is given here wins over the course's own settings
        given = {"titles": _named(titles), "missing_as_zero": missing_as_zero}
        given |= {"roster": str(roster or ""), "to": str(to or "")}
        exporter = EXPORTERS[kind](
            config=own_settings(opened.root),
            root=str(opened.root),
            **{name: value for name, value in given.items() if value},
        )
        with open_gradebook(opened) as gradebook:
            exporter.assignment = assignments_in(gradebook, assignments)
            done = exporter.export(gradebook)
    except (CourseError, RosterError) as problem:
        raise click.ClickException(str(problem)) from None
    click.echo(
        f"Wrote {done.path}: {counted(done.students, 'student')}, {', '.join(done.assignments)}."
    )
    if done.waiting:
        click.echo(f"Written answers not yet marked: in {counted(done.waiting, 'submission')}.")


def _named(titles: tuple[str, ...]) -> dict[str, str]:
    named = {}
    for text in titles:
        assignment, equals, title = text.partition("=")
        if not equals or not title:
            raise CourseError(f"--title {text!r}: write it as ASSIGNMENT=TITLE.")
        named[assignment] = title
    return named
