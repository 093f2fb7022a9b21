"""autograder run: run every notebook from top to bottom."""

import os
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from autograder import build, run_notebooks


@click.command(name="run", short_help="Run every notebook from top to bottom.")
@click.argument("names", nargs=-1)
@click.option(
    "--budget",
    type=click.Choice(run_notebooks.BUDGETS),
    default="smoke",
    show_default=True,
    help="How long models are trained.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=os.cpu_count(),
    help="How many notebooks to run at a time.  [default: one per core]",
)
@click.option("--unsolved", is_flag=True, help="Also run the notebooks as students get them.")
@click.option("--only-unsolved", is_flag=True, help="Run the notebooks only as students get them.")
@click.option(
    "--own-parts", is_flag=True, help="Use the solutions of earlier notebooks in later ones."
)
@click.option("--keep", type=click.Path(path_type=Path), help="Keep the executed notebooks here.")
def command(names, budget, jobs, unsolved, only_unsolved, own_parts, keep):
    """Run the solved notebooks (default: all NAMES) with papermill, and expect full points."""
    names = list(names) or build.names()
    console = Console()
    count = len(names) * (1 + unsolved) if not only_unsolved else len(names)
    results = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    try:
        with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
            task = progress.add_task(f"Running ({budget})", total=count)
            for result in run_notebooks.run_all(
                names, budget, jobs, not only_unsolved, unsolved or only_unsolved, keep, own_parts
            ):
                results.append(result)
                progress.advance(task)
                if not result.fine:
                    progress.console.print(
                        result.problem or f"{result.notebook}: points are missing"
                    )
    except build.BuildError as problem:
        raise click.ClickException(str(problem)) from None
    console.print(_table(results))
    if not all(r.fine for r in results):
        raise SystemExit(1)


def _table(results: list[run_notebooks.NotebookRun]) -> Table:
    table = Table("notebook", "", "seconds", "points", "of")
    for r in sorted(results, key=lambda r: (not r.solved, r.notebook)):
        points = "" if r.points is None else f"{r.points:g}"
        possible = "" if r.points is None else f"{r.possible:g}"
        state = "solved" if r.solved else "as handed out"
        style = None if r.fine else "bold red"
        table.add_row(r.notebook, state, f"{r.seconds:.1f}", points, possible, style=style)
    return table
