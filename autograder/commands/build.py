"""autograder build: build the notebooks from their sources."""

import click

from autograder import build
from autograder.wording import counted


@click.command(name="build", short_help="Build the notebooks from their sources.")
@click.argument("names", nargs=-1)
@click.option("--check", is_flag=True, help="Write nothing; fail if notebooks/ is out of date.")
def command(names: tuple[str, ...], check: bool):
    """Build notebooks/ (or only NAMES) from autograder/source/."""
    try:
        built = build.build(names or None)
        if not check:
            build.write(built)
            build.write_given()
            click.echo(f"Built {', '.join(built)}.")
            if build.without_colab():
                click.echo(build.without_colab())
            return
        problems = build.stale(built) + build.stale_given()
    except build.BuildError as problem:
        raise click.ClickException(str(problem)) from None
    if problems:
        raise click.ClickException("\n".join(problems))
    click.echo(f"Up to date: {counted(len(built), 'notebook')}.")
