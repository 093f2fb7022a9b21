"""autograder selftest: does the judge tell right from wrong?"""

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

from autograder import selftest


@click.command(name="selftest")
@click.argument("exercise", required=False)
@click.option("--seeds", type=click.IntRange(1), default=selftest.SEEDS, show_default=True)
@click.option("--verbose", is_flag=True, help="Show every mutant, not only those that went wrong.")
def command(exercise, seeds, verbose):
    """Judge every mutant (or those of EXERCISE) on fresh seeds and print the matrix."""
    chosen = selftest.mutants(exercise)
    if not chosen:
        raise click.ClickException(f"There are no mutants of {exercise or 'any exercise'}.")
    console = Console()
    results = list(
        track(selftest.run(chosen, seeds), "Judging", total=len(chosen), console=console)
    )
    console.print(_matrix(results))
    for r in results:
        wanted = r.mutant.misconception
        unnamed = wanted and r.named != wanted
        if verbose or not r.as_it_should or unnamed:
            name = f"{r.mutant.exercise}/{r.mutant.path.name}"
            named = f", named {r.named or 'nothing'}" + (f" (wanted {wanted})" if unnamed else "")
            console.print(f"{name}: passed {r.passed} of {r.seeds}{named}", highlight=False)
    wrong = [r for r in results if not r.mutant.right]
    to_name = [r for r in wrong if r.mutant.misconception]
    found = sum(r.named == r.mutant.misconception for r in to_name)
    passed = sum(r.passed > 0 for r in wrong)
    failed = sum(r.passed < r.seeds for r in results if r.mutant.right)
    share = found / len(to_name) if to_name else 1.0
    console.print(
        f"{len(wrong)} wrong and {len(results) - len(wrong)} right answers, {seeds} seeds: "
        f"wrong passed {passed}, right failed {failed}, "
        f"named {found} of {len(to_name)} ({share:.0%})",
        highlight=False,
    )
    if passed or failed or share < 0.9:
        raise SystemExit(1)


def _matrix(results: list[selftest.Result]) -> Table:
    table = Table("exercise", "wrong", "passed", "right", "failed", "named", "of")
    for exercise in sorted({r.mutant.exercise for r in results}):
        mine = [r for r in results if r.mutant.exercise == exercise]
        wrong = [r for r in mine if not r.mutant.right]
        right = [r for r in mine if r.mutant.right]
        named = [r for r in wrong if r.mutant.misconception]
        counts = (
            len(wrong),
            sum(r.passed > 0 for r in wrong),
            len(right),
            sum(r.passed < r.seeds for r in right),
            sum(r.named == r.mutant.misconception for r in named),
            len(named),
        )
        table.add_row(exercise, *map(str, counts))
    return table
