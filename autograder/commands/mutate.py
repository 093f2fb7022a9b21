"""autograder mutate: count how many changed solutions the judge refuses."""

import click
from rich.console import Console
from rich.progress import track

from autograder import build, mutate, seeds
from course_utils import register


@click.command(name="mutate", short_help="Test the judge on changed solutions.")
@click.argument("exercises", nargs=-1)
@click.option("--repeat", type=int, help="Draw the same questions every time, from this seed.")
@click.option("--most", type=int, help="Judge at most this many changes, drawn from all.")
def command(exercises, repeat, most):
    """Change the solutions (default: of all EXERCISES) in one place at a time, and judge each."""
    seeds.repeat(repeat)
    built = set(build.names())
    known = [e.id for e in register.exercises() if e.kind == "code" and e.notebook in built]
    chosen = [c for e in (exercises or known) for c in mutate.changes(e)]
    if most is not None and len(chosen) > most:
        chosen = seeds.source.sample(chosen, most)
    console = Console()
    results = list(track(mutate.run(chosen), "Judging", total=len(chosen), console=console))
    reasons = mutate.equivalent()
    survivors = [c for c, found in results if found.passed]
    unexplained = [c for c in survivors if (c.exercise, c.what) not in reasons]
    for change in survivors:
        why = reasons.get((change.exercise, change.what), "NOT EXPLAINED")
        console.print(f"{change.exercise}, {change.what}: {why}", markup=False, highlight=False)
    falsely = [(c, found.named) for c, found in results if found.falsely_named]
    for change, named in falsely:
        console.print(
            f"{change.exercise}, {change.what}: falsely called {named}",
            markup=False,
            highlight=False,
        )
    refused, different = (
        len(results) - len(survivors),
        len(results) - len(survivors) + len(unexplained),
    )
    console.print(
        f"{len(results)} mutants, {len(survivors) - len(unexplained)} equivalent; refused {refused} "
        f"of {different} that behave differently ({refused / max(different, 1):.1%}); "
        f"named {sum(bool(found.named) for _, found in results)}, falsely {len(falsely)}",
        highlight=False,
    )
    if unexplained or falsely:
        raise SystemExit(1)
