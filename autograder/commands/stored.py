"""autograder stored: write the stored arrays of visible checks anew."""

import click

from autograder import stored


@click.command(name="stored")
def command():
    """Write the right arrays that ship where an oracle would be the answer."""
    for exercise_id in stored.write_all():
        click.echo(exercise_id)
