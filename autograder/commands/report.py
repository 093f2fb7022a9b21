"""autograder report: one page on how the class did."""

from pathlib import Path

import click

from autograder.grading import record
from autograder.grading.course import CourseError
from autograder.instructor.course import (
    assignments_in,
    open_course,
    open_gradebook,
    roster_of,
    verdicts_of,
    write_file,
)
from autograder.instructor.late import refresh_penalties
from autograder.instructor.marks import max_score, read_sheets, with_roster
from autograder.intake import RosterError


@click.command(name="report")
@click.argument("assignment")
@click.option("--course", default=".", help="The course directory (here if not said).")
@click.option("--db", help="The gradebook's address, if not the course's own.")
@click.option("--to", type=click.Path(path_type=Path), help="The file to write.")
def command(assignment, course, db, to):
    """Write a page on ASSIGNMENT: points, misconceptions, flags, how it was graded."""
    from autograder.instructor.report import render

    try:
        opened = open_course(course, db)
        with open_gradebook(opened) as gradebook:
            assignments_in(gradebook, (assignment,))
            refresh_penalties(opened, gradebook, [assignment])
            sheets = with_roster(read_sheets(gradebook, assignment), roster_of(opened))
            most = max_score(gradebook, assignment)
        if not any(sheet.submitted for sheet in sheets):
            raise CourseError(f"Nobody has handed in {assignment} yet, so there is no report.")
        page = render(
            assignment,
            sheets,
            most,
            verdicts_of(opened, assignment),
            record.runs(opened.root, assignment),
        )
        target = to or opened.root / "reports" / f"{assignment}.html"
        write_file(target, page)
    except (CourseError, RosterError) as problem:
        raise click.ClickException(str(problem)) from None
    click.echo(f"Wrote {target}.")
