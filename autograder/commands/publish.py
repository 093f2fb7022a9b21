"""autograder publish: write the students' copy of the course."""

from pathlib import Path

import click

from autograder import build, choices, publish
from autograder.course_files import CourseError
from autograder.wording import counted
from course_utils import register


@click.command(name="publish", short_help="Write the students' copy of the course.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--course",
    type=click.Path(path_type=Path),
    default=Path("."),
    help="The directory with the class's course.toml (default: the current folder).",
)
@click.option(
    "--solutions", is_flag=True, help="Add the solved notebooks (for after the deadline)."
)
def command(folder: Path, course: Path, solutions: bool):
    """Write the students' copy into FOLDER: notebooks/ and course_utils/, without solutions.

    If there is a course.toml, FOLDER gets what it chooses.
    """
    try:
        chosen = choices.read(course)
        files = publish.publish(folder, solutions, course)
        choices.use(course)
    except (publish.PublishError, build.BuildError, CourseError) as problem:
        raise click.ClickException(str(problem)) from None
    if chosen != choices.Choices():
        click.echo(f"By {course / choices.FILE}: {_chosen(chosen)}.")
    if build.without_colab():
        click.echo(build.without_colab())
    click.echo(
        f"{counted(len(files), 'file')} in {folder}. To publish them: git init, add, commit, push."
    )


def _chosen(chosen: choices.Choices) -> str:
    notebooks = register.notebooks()
    points = sum(register.points(entry.name) for entry in notebooks)
    names = ", ".join(entry.name for entry in notebooks)
    left = f"; left out: {', '.join(sorted(chosen.left_out))}" if chosen.left_out else ""
    return f"{names}, {points:g} points{left}"
