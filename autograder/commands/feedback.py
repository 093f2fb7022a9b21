"""autograder feedback: a page for each student."""

import click

from autograder.course_files import CourseError
from autograder.instructor.course import (
    assignments_in,
    open_course,
    open_gradebook,
    require_student,
)
from autograder.nbgrader_parts.configuration import own_settings
from autograder.nbgrader_parts.late import refresh_penalties


@click.command(name="feedback")
@click.argument("assignment")
@click.option("--student", "students", multiple=True, help="Only this student (may be repeated).")
@click.option("--course", default=".", help="The course directory (default: the current folder).")
@click.option("--db", help="The gradebook's address, if not the course's own.")
def command(assignment, students, course, db):
    """Write feedback/STUDENT/ASSIGNMENT/ASSIGNMENT.html, for everyone or for some."""
    from autograder.instructor.feedback import write_feedback

    try:
        opened = open_course(course, db)
        with open_gradebook(opened) as gradebook:
            assignments_in(gradebook, (assignment,))
            for student in students:
                require_student(gradebook, student)
            refresh_penalties(gradebook, own_settings(opened.root), [assignment])
        pages = write_feedback(opened, assignment, students)
    except CourseError as problem:
        raise click.ClickException(str(problem)) from None
    if not pages:
        raise click.ClickException(f"Nobody's {assignment} has been graded yet.")
    if len(pages) == 1:
        click.echo(f"Wrote {pages[0]}.")
    else:
        click.echo(f"Wrote {len(pages)} pages, such as {pages[0]}.")
