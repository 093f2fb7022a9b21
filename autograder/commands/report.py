"""autograder report: pages on how the class did, one per assignment and one over all."""

from datetime import UTC
from pathlib import Path

import click

from autograder.course_files import CourseError, write_for_people
from autograder.grading import archive
from autograder.instructor.course import (
    Course,
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
from autograder.nbgrader_parts.times import timetable

INDEX = "index.html"


@click.command(name="report", short_help="Write pages on how the class did.")
@click.argument("assignments", nargs=-1)
@click.option("--course", default=".", help="The course directory (default: the current folder).")
@click.option("--db", help="The gradebook's address, if it is not the course's own.")
@click.option(
    "--to", type=click.Path(path_type=Path), help="The file to write, if you name one assignment."
)
def command(assignments, course, db, to):
    """Write a page on each of ASSIGNMENTS (default: all), and one that covers all of them."""
    if to is not None and len(assignments) != 1:
        raise click.ClickException("--to works for one assignment only: name it.")
    try:
        opened = open_course(course, db)
        with open_gradebook(opened) as gradebook:
            wanted = assignments_in(gradebook, assignments)
            every = assignments_in(gradebook)
            refresh_penalties(gradebook, own_settings(opened.root), every, opened.root)
            graded = read_graded(opened, gradebook, every)
            due = {name: gradebook.find_assignment(name).duedate for name in every}
        missing = [name for name in wanted if name not in graded]
        if missing and (assignments or not graded):
            name = missing[0]
            raise CourseError(f"Nobody has handed in {name} yet, so there is no report.")
        for name in wanted:
            if name in graded:
                write_one(opened, graded[name], due[name], to)
        write_index(opened, list(graded.values()))
    except (CourseError, RosterError) as problem:
        raise click.ClickException(str(problem)) from None


def read_graded(opened: Course, gradebook, names):
    """Every assignment that somebody has handed in, with the marks and records of the class."""
    from autograder.instructor.overview import Graded

    people, table = roster_of(opened), timetable(opened.root)
    found = {}
    for name in names:
        sheets = with_roster(read_sheets(gradebook, name, table.chosen.zone), people)
        if any(sheet.submitted for sheet in sheets):
            most, records = max_score(gradebook, name), records_of(opened, name)
            excused = frozenset(s.student for s in sheets if table.of(s.student, name).excused)
            undecided = tuple(table.undecided(name))
            found[name] = Graded(name, most, tuple(sheets), records, excused, undecided)
    return found


def write_one(opened: Course, one, due, to: Path | None) -> None:
    from autograder.instructor.report import LateWork, render, summary
    from autograder.instructor.similar import similar_work

    sheets, records = list(one.sheets), dict(one.records)
    similar = similar_work(opened, list(records.values()))
    runs = archive.runs(opened.root, one.assignment)
    zone = timetable(opened.root).chosen.zone or UTC
    due = due.replace(tzinfo=UTC).astimezone(zone) if due else None
    late = LateWork(due, one.excused, one.undecided)
    page = render(one.assignment, sheets, one.max_score, records, runs, late, similar)
    target = to or opened.root / "reports" / f"{one.assignment}.html"
    write_for_people(target, page)
    click.echo(f"Wrote {target}: {summary(sheets, one.max_score, records)}")


def write_index(opened: Course, graded) -> None:
    from autograder.instructor.overview import render

    target = opened.root / "reports" / INDEX
    write_for_people(target, render(graded))
    click.echo(f"Wrote {target}, over all assignments.")
