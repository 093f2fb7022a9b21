"""autograder gradescope: write the zip for a programming assignment on Gradescope."""

from pathlib import Path

import click

from autograder.choices import read as read_choices
from autograder.course_files import CourseError
from autograder.platforms.gradescope import (
    SHOW,
    NoSuchAssignment,
    Settings,
    points_to_set,
    write_zip,
)


@click.command(name="gradescope", short_help="Write the zip for an assignment on Gradescope.")
@click.argument("assignment")
@click.option(
    "--to",
    "target",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The zip to write (default: gradescope_ASSIGNMENT.zip).",
)
@click.option(
    "--show",
    type=click.Choice(list(SHOW)),
    default="at-once",
    show_default=True,
    help="When students see their points and the diagnosis.",
)
@click.option(
    "--course",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Use the notebook that this course directory gave to its students.",
)
def command(assignment, target, show, course):
    """Write the zip that grades ASSIGNMENT on Gradescope."""
    target = target or Path(f"gradescope_{assignment}.zip")
    try:
        names = write_zip(target, Settings(assignment, show), course)
        uncounted = read_choices(course).uncounted if course else ()
    except (NoSuchAssignment, CourseError) as problem:
        raise click.ClickException(str(problem)) from None
    points = points_to_set(assignment, uncounted)
    size = target.stat().st_size / 1e6
    click.echo(f"{target}: {len(names)} files, {size:.1f} MB. In Gradescope:")
    click.echo(f"- Create a programming assignment with {points:g} points.")
    click.echo(
        "- In Configure autograder, upload this zip. In the settings, choose 3 GB of memory."
    )
    click.echo("- Add a question to the outline for each written answer.")
