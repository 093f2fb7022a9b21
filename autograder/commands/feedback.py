"""autograder feedback: a page for each student."""

import click

from autograder.grading.course import CourseError
from autograder.instructor.course import (
    assignments_in,
    open_course,
    open_gradebook,
    require_student,
)
from autograder.instructor.late import refresh_penalties


@click.command(name="feedback")
@click.argument("assignment")
@click.option("--student", "students", multiple=True, help="Only this student (may be repeated).")
@click.option("--course", default=".", help="The course directory (here if not said).")
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
            refresh_penalties(opened, gradebook, [assignment])
        pages = write_feedback(opened, assignment, students)
    except CourseError as problem:
        raise click.ClickException(str(problem)) from None
    if not pages:
        raise click.ClickException(f"Nobody's {assignment} has been graded yet.")
    if len(pages) == 1:
        click.echo(f"Wrote {pages[0]}.")
    else:
        click.echo(f"Wrote {len(pages)} pages, such as {pages[0]}.")
