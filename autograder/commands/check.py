"""autograder check: judge one exercise in one or more files."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from autograder.box import BoxUnavailable
from autograder.grading.verdict import BoxFailed, exercise_record
from autograder.one_answer import check_files
from course_utils import register
from course_utils.checks import panel


@click.command(name="check", short_help="Judge one exercise in one or more files.")
@click.argument("exercise")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object per file, each on one line."
)
@click.option(
    "--seed",
    "seeds",
    type=int,
    multiple=True,
    help="Use this seed instead of fresh ones (may be repeated).",
)
@click.option("--unsafe", is_flag=True, help="Run the code without isolation.")
def command(exercise, files, as_json, seeds, unsafe):
    """Judge EXERCISE in FILES: Python files with the answer, or notebooks."""
    try:
        entry = register.exercise(exercise)
    except KeyError as problem:
        raise click.ClickException(problem.args[0]) from None
    if not entry.checked:
        raise click.ClickException(f"{exercise} is a written answer, which a person marks.")
    try:
        for path, judged in check_files(exercise, files, seeds or None, unsafe):
            if as_json:
                content = {"file": str(path), **asdict(exercise_record(judged))}
                click.echo(json.dumps(content, ensure_ascii=False))
            else:
                click.echo(f"{path}\n{panel.text(judged.verdict)}\n")
    except (BoxUnavailable, BoxFailed) as problem:
        raise click.ClickException(str(problem)) from None
