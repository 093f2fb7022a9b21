"""autograder export: grades for Canvas, Moodle or a spreadsheet."""

from pathlib import Path

import click

from autograder.grading.course import CourseError
from autograder.instructor import export
from autograder.instructor.course import (
    assignments_in,
    open_course,
    open_gradebook,
    roster_of,
    write_file,
)
from autograder.instructor.late import refresh_penalties
from autograder.instructor.marks import max_score, read_sheets
from autograder.intake import RosterError, Student


@click.command(name="export")
@click.argument("assignments", nargs=-1)
@click.option("--format", "kind", type=click.Choice(sorted(export.FORMATS)), required=True)
@click.option("--course", default=".", help="The course directory (here if not said).")
@click.option("--db", help="The gradebook's address, if not the course's own.")
@click.option("--roster", type=click.Path(path_type=Path), help="Ids and sections of the LMS.")
@click.option("--to", type=click.Path(path_type=Path), help="The file to write.")
@click.option(
    "--title",
    "titles",
    multiple=True,
    metavar="ASSIGNMENT=TITLE",
    help="What the LMS calls an assignment, such as '03_attention=Attention (98765)'.",
)
@click.option("--missing-as-zero", is_flag=True, help="0 for who handed nothing in, not a blank.")
def command(assignments, kind, course, db, roster, to, titles, missing_as_zero):
    """Write the grades of ASSIGNMENTS (all if none is named) as a file that an LMS imports."""
    try:
        opened = open_course(course, db)
        named = _named(titles)
        people = roster_of(opened, roster)
        with open_gradebook(opened) as gradebook:
            wanted = assignments_in(gradebook, assignments)
            if not wanted:
                raise CourseError("The gradebook has no assignments yet; grade one first.")
            refresh_penalties(opened, gradebook, wanted)
            columns, everyone = [], {}
            for name in wanted:
                sheets = read_sheets(gradebook, name)
                everyone |= {sheet.student: _student(sheet) for sheet in sheets}
                by_id = {sheet.student: sheet for sheet in sheets}
                title = named.get(name, name)
                columns.append(export.Column(name, title, max_score(gradebook, name), by_id))
        students = sorted({**everyone, **people}.values(), key=lambda s: (s.sortable_name, s.id))
        if not students:
            raise CourseError("The class is empty: neither gradebook nor roster has a student.")
        missing = "0" if missing_as_zero else ""
        target = to or opened.root / f"grades_{kind}.csv"
        write_file(target, export.FORMATS[kind](students, columns, missing))
    except (CourseError, RosterError) as problem:
        raise click.ClickException(str(problem)) from None
    click.echo(f"Wrote {target}: {len(students)} students, {', '.join(wanted)}.")
    waiting = sum(1 for column in columns for sheet in column.sheets.values() if sheet.waiting)
    if waiting:
        click.echo(f"{waiting} submissions have written answers that nobody has marked yet.")


def _named(titles: tuple[str, ...]) -> dict[str, str]:
    named = {}
    for text in titles:
        assignment, equals, title = text.partition("=")
        if not equals or not title:
            raise CourseError(f"--title {text!r}: write it as ASSIGNMENT=TITLE.")
        named[assignment] = title
    return named


def _student(sheet) -> Student:
    return Student(sheet.student, sheet.first_name, sheet.last_name, sheet.email, sheet.lms_id)
