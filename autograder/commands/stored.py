"""autograder stored: write the stored arrays of visible checks anew."""

import click

from autograder import stored


@click.command(name="stored")
def command():
    """Write the right arrays that ship where an oracle would be the answer."""
    written = stored.write_all()
    click.echo(f"Wrote {', '.join(written)}." if written else "Every stored array is right.")
