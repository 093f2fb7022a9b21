"""The command line `autograder`: every module in autograder/commands is one of its commands."""

import errno
import importlib
import pkgutil

import click

from autograder import commands


class Commands(click.Group):
    """Import a command only when it is called, so that each starts quickly."""

    def list_commands(self, ctx):
        return sorted(m.name.replace("_", "-") for m in pkgutil.iter_modules(commands.__path__))

    def get_command(self, ctx, name):
        module = name.replace("-", "_")
        if module not in {m.name for m in pkgutil.iter_modules(commands.__path__)}:
            return None
        return importlib.import_module(f"autograder.commands.{module}").command

    def invoke(self, ctx):
        """Turn a locked gradebook or a full disk into one sentence, in every command."""
        try:
            return super().invoke(ctx)
        except OSError as problem:
            from autograder.course_files import why_not_written

            if problem.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
                raise
            raise click.ClickException(why_not_written(problem)) from None
        except Exception as problem:
            if type(problem).__module__ != "sqlalchemy.exc":
                raise
            from autograder.nbgrader_parts.database import why_not

            raise click.ClickException(f"The gradebook can't be used: {why_not(problem)}") from None


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="attention-course")
def main():
    """Build and hand out the attention course, grade it, and report on a class."""
