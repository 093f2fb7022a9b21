"""autograder mark: open the page for marking written answers."""

import subprocess
import sys

import click

from autograder.course_files import CourseError

EXTENSION = "--ServerApp.jpserver_extensions=autograder.marking=True"


@click.command(name="mark", short_help="Open the page for marking written answers.")
@click.option("--course", default=".", help="The course directory (default: the current folder).")
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def command(course, options):
    """Start Jupyter in the course directory and open its marking page.

    OPTIONS are Jupyter's own and go after --, for example: -- --port 9000 --no-browser
    """
    from autograder.instructor.course import open_course

    try:
        root = open_course(course).root
    except CourseError as problem:
        raise click.ClickException(str(problem)) from None
    start = [sys.executable, "-m", "jupyterlab", EXTENSION, "--LabApp.default_url=/marking"]
    done = subprocess.run([*start, f"--ServerApp.root_dir={root}", *options], cwd=root)
    sys.exit(done.returncode)
