"""autograder gradescope: write the zip that a programming assignment of Gradescope takes."""

from pathlib import Path

import click

from autograder.platforms.gradescope import (
    SHOW,
    NoSuchAssignment,
    Settings,
    points_to_set,
    write_zip,
)


@click.command(name="gradescope")
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
    help="Grade the notebook that the students of this course directory were given.",
)
def command(assignment, target, show, course):
    """Write the autograder zip of ASSIGNMENT for Gradescope."""
    target = target or Path(f"gradescope_{assignment}.zip")
    try:
        names = write_zip(target, Settings(assignment, show), course)
    except NoSuchAssignment as problem:
        raise click.ClickException(str(problem)) from None
    size = target.stat().st_size / 1e6
    click.echo(f"{target}: {len(names)} files, {size:.1f} MB. In Gradescope:")
    click.echo(f"- Create a programming assignment with {points_to_set(assignment):g} points.")
    click.echo("- Configure autograder: upload this zip; in the settings choose 3 GB of memory.")
    click.echo("- Add a question to the outline for each written answer.")
