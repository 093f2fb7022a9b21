"""autograder report: one page on how the class did."""

from pathlib import Path

import click

from autograder.course_files import CourseError, write_for_people
from autograder.grading import archive
from autograder.instructor.course import (
    assignments_in,
    open_course,
    open_gradebook,
    records_of,
    roster_of,
)
from autograder.intake import RosterError
from autograder.nbgrader_parts.configuration import own_settings
from autograder.nbgrader_parts.late import refresh_penalties
from autograder.nbgrader_parts.marks import max_score, read_sheets, with_roster


@click.command(name="report")
@click.argument("assignment")
@click.option("--course", default=".", help="The course directory (default: the current folder).")
@click.option("--db", help="The gradebook's address, if not the course's own.")
@click.option("--to", type=click.Path(path_type=Path), help="The file to write.")
def command(assignment, course, db, to):
    """Write a page on ASSIGNMENT: points, misconceptions, flags, how it was graded."""
    from autograder.instructor.report import render, summary

    try:
        opened = open_course(course, db)
        with open_gradebook(opened) as gradebook:
            assignments_in(gradebook, (assignment,))
            refresh_penalties(gradebook, own_settings(opened.root), [assignment])
            sheets = with_roster(read_sheets(gradebook, assignment), roster_of(opened))
            most = max_score(gradebook, assignment)
            due = gradebook.find_assignment(assignment).duedate
        if not any(sheet.submitted for sheet in sheets):
            raise CourseError(f"Nobody has handed in {assignment} yet, so there is no report.")
        records, runs = records_of(opened, assignment), archive.runs(opened.root, assignment)
        page = render(assignment, sheets, most, records, runs, due)
        target = to or opened.root / "reports" / f"{assignment}.html"
        write_for_people(target, page)
    except (CourseError, RosterError) as problem:
        raise click.ClickException(str(problem)) from None
    click.echo(f"Wrote {target}: {summary(sheets, most, records)}")
