"""autograder feedback: one page per student."""

import click

from autograder.course_files import CourseError
from autograder.instructor.course import (
    assignments_in,
    open_course,
    open_gradebook,
    records_of,
    require_student,
    roster_of,
)
from autograder.intake import RosterError
from autograder.nbgrader_parts.configuration import own_settings
from autograder.nbgrader_parts.late import refresh_penalties
from autograder.wording import counted


@click.command(name="feedback", short_help="Write a page for every student.")
@click.argument("assignment")
@click.option("--student", "students", multiple=True, help="Only this student (may be repeated).")
@click.option("--course", default=".", help="The course directory (default: the current folder).")
@click.option("--db", help="The gradebook's address, if it is not the course's own.")
def command(assignment, students, course, db):
    """Write a page for everybody who handed in ASSIGNMENT, and zips for Canvas and Moodle."""
    from autograder.instructor.feedback import pages_of, write_feedback
    from autograder.instructor.send_back import pack

    try:
        opened = open_course(course, db)
        records = records_of(opened, assignment)
        with open_gradebook(opened) as gradebook:
            assignments_in(gradebook, (assignment,))
            for student in students:
                if student not in records:
                    require_student(gradebook, student)
            refresh_penalties(gradebook, own_settings(opened.root), [assignment], opened.root)
        pages = write_feedback(opened, assignment, students)
        # the zips always contain everybody's pages, even if only one was rewritten
        there = {s: page for s, page in pages_of(opened, assignment).items() if s in records}
        sent = pack(opened, assignment, there, records, roster_of(opened))
    except (CourseError, RosterError) as problem:
        raise click.ClickException(str(problem)) from None
    if not pages:
        raise click.ClickException(f"Nobody's {assignment} has been graded yet.")
    if len(pages) == 1:
        click.echo(f"Wrote {pages[0]}.")
    else:
        click.echo(f"Wrote {len(pages)} pages, such as {pages[0]}.")
    tell(sent, records, there)


def tell(sent, records, pages) -> None:
    """Report how the pages reach their students, and how many could not be graded."""
    from autograder.instructor.send_back import UPLOAD

    for one in sent.zips:
        click.echo(
            f"For {one.system.capitalize()}: {one.path}, {counted(one.pages, 'page')}. Upload it "
            f"there: {UPLOAD[one.system]}."
        )
    if sent.by_hand is not None:
        click.echo(
            f"Not reached by a zip: {counted(sent.unreached, 'student')}, listed in {sent.by_hand}."
        )
    unread = sum(student in records and not records[student].graded for student in pages)
    if unread:
        click.echo(
            f"{counted(unread, 'page')} for work that could not be graded, with advice on what to do."
        )
