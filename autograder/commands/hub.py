"""autograder hub: nbgrader's exchange on a JupyterHub, and links for classes without one."""

from pathlib import Path

import click

from autograder.course_files import CourseError
from autograder.wording import counted

COURSE = click.option(
    "--course",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("."),
    help="The course directory (default: the current folder).",
)


@click.group(name="hub")
def command():
    """Hand out and return work on a JupyterHub."""


@command.command()
@click.argument("assignment")
@COURSE
@click.option("--again", is_flag=True, help="Replace the version that is already in the exchange.")
def release(assignment, course, again):
    """Put ASSIGNMENT into nbgrader's exchange, for students to fetch."""
    from autograder.platforms.hub import release_assignment

    try:
        release_assignment(course, assignment, again)
    except CourseError as problem:
        raise click.ClickException(str(problem)) from None
    click.echo(f"{assignment} is in the exchange.")


@command.command()
@click.argument("assignment")
@COURSE
def feedback(assignment, course):
    """Put the pages of `autograder feedback` into the exchange, each for its own student."""
    from autograder.platforms.hub import release_feedback

    try:
        ready, without = release_feedback(course, assignment)
    except CourseError as problem:
        raise click.ClickException(str(problem)) from None
    click.echo(f"{counted(len(ready), 'page')} in the exchange.")
    if without:
        click.echo(f"No page, or not handed in through the exchange: {', '.join(without)}.")


@command.command()
@click.argument("notebook")
@click.option("--hub", required=True, help="The hub's address: https://hub.example")
@click.option(
    "--repository", default="", help="The repository of the students' copy (default: the course's)."
)
@click.option("--branch", default="main", show_default=True, help="The branch to fetch.")
def link(notebook, hub, repository, branch):
    """Print a link that opens NOTEBOOK on a hub with nbgitpuller."""
    from autograder.platforms.hub import pull_link

    try:
        click.echo(pull_link(hub, notebook, repository, branch))
    except CourseError as problem:
        raise click.ClickException(str(problem)) from None
