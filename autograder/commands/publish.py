"""autograder publish: write the student's copy of the course."""

from pathlib import Path

import click

from autograder import build, publish
from autograder.wording import counted


@click.command(name="publish")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--solutions", is_flag=True, help="Add the solved notebooks, for after the deadline.")
def command(folder: Path, solutions: bool):
    """Write notebooks/ and course_utils/ into FOLDER, ready for git, without any solution."""
    try:
        files = publish.publish(folder, solutions)
    except (publish.PublishError, build.BuildError) as problem:
        raise click.ClickException(str(problem)) from None
    if build.without_colab():
        click.echo(build.without_colab())
    click.echo(
        f"{counted(len(files), 'file')} in {folder}. To publish them: git init, add, commit, push."
    )
