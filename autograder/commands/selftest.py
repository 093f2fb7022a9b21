"""autograder selftest: test whether the judge tells right from wrong, and mistakes apart."""

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

from autograder import seeds as draw
from autograder import selftest, switches
from course_utils.checks.may_use import refusal

PAIRS_NAMED = 0.8


@click.command(name="selftest", short_help="Test the judge on known right and wrong answers.")
@click.argument("exercise", required=False)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=selftest.SEEDS,
    show_default=True,
    help="How often each answer is judged, with new questions every time.",
)
@click.option(
    "--pairs",
    type=click.IntRange(0),
    help="Try this many pairs of mistakes, drawn at random.  [default: all]",
)
@click.option("--repeat", type=int, help="Draw the same questions every time, from this seed.")
@click.option(
    "--verbose", is_flag=True, help="Show every answer, not only those that were judged wrongly."
)
def command(exercise, seeds, pairs, repeat, verbose):
    """Judge known right and wrong answers (default: of every EXERCISE) and print a table."""
    draw.repeat(repeat)
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
        if verbose or not r.as_it_should or r.named != wanted:
            name = f"{r.mutant.exercise}/{r.mutant.path.name}"
            named = f", named {r.named or 'nothing'} (wanted {wanted or 'nothing'})"
            console.print(f"{name}: passed {r.passed} of {r.seeds}{named}", highlight=False)
    went_wrong = _print_totals(console, results, seeds)
    went_wrong |= _print_imported(console, exercise)
    went_wrong |= _print_confusions(console, exercise, pairs, verbose)
    if went_wrong:
        raise SystemExit(1)


def _print_totals(console: Console, results: list[selftest.Result], seeds: int) -> bool:
    wrong = [r for r in results if not r.mutant.right]
    named = [r for r in wrong if r.mutant.misconception]
    found = sum(r.named == r.mutant.misconception for r in named)
    passed = sum(r.passed > 0 for r in wrong)
    failed = sum(r.passed < r.seeds for r in results if r.mutant.right)
    falsely = sum(r.falsely_named for r in results)
    share = found / len(named) if named else 1.0
    console.print(
        f"{len(wrong)} wrong and {len(results) - len(wrong)} right answers, {seeds} seeds: "
        f"wrong passed {passed}, right failed {failed}, "
        f"named {found} of {len(named)} ({share:.0%}), falsely {falsely}",
        highlight=False,
    )
    return bool(passed or failed or falsely or found < len(named))


def _print_imported(console: Console, exercise: str | None) -> bool:
    """Print the count of imported answers; return whether one of them is allowed."""
    answers = selftest.imported(exercise)
    allowed = [name for name, source in answers.items() if not refusal(name, [source])]
    refused = len(answers) - len(allowed)
    console.print(f"{len(answers)} imported answers, refused {refused}", highlight=False)
    for name in allowed:
        console.print(f"{name}: its imported answer is allowed", highlight=False)
    return bool(allowed)


def _matrix(results: list[selftest.Result]) -> Table:
    table = Table("exercise", "wrong", "passed", "right", "failed", "named", "of", "falsely")
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
            sum(r.falsely_named for r in mine),
        )
        table.add_row(exercise, *map(str, counts))
    return table


def _print_confusions(
    console: Console, exercise: str | None, pairs: int | None, verbose: bool
) -> bool:
    """Print the results for mistakes built into right answers; return whether any went wrong."""
    exercises = [e for e in switches.exercises() if exercise in (None, e)]
    chosen = selftest.some_pairs([one for e in exercises for one in switches.switched(e)], pairs)
    if not chosen:
        return False
    trials = selftest.run_switched(chosen)
    tried = list(track(trials, "Pairing", total=len(chosen), console=console))
    table = Table(
        "exercise", "alone", "named", "pairs", "both named", "one, truly", "none", "falsely"
    )
    for name in exercises:
        counts = _counts([pair for pair in tried if pair[0].exercise == name])
        table.add_row(name, *map(str, counts.values()))
    console.print(table)
    for one, found in tried:
        if verbose or found.passed or found.falsely_named:
            said = "passed" if found.passed else f"named {found.named or 'nothing'}"
            console.print(f"{one.exercise}, {one.name}: {said}", highlight=False)
    total = _counts(tried)
    passed = sum(found.passed for _, found in tried)
    told = total["both named"] / max(1, total["pairs"])
    console.print(
        f"{total['alone']} mistakes alone, named {total['named']}; {total['pairs']} pairs, both "
        f"named {total['both named']} ({told:.0%}), falsely {total['falsely']}, passed {passed}",
        highlight=False,
    )
    missed = total["named"] < total["alone"] or (not exercise and told < PAIRS_NAMED)
    return bool(passed or total["falsely"] or missed)


def _counts(tried: list[tuple[switches.Switched, selftest.Diagnosis]]) -> dict[str, int]:
    alone = [(one, found) for one, found in tried if len(one.mistakes) == 1]
    pairs = [(one, found) for one, found in tried if len(one.mistakes) == 2]
    both = sum(found.named == one.name for one, found in pairs)
    falsely = sum(found.falsely_named for _, found in tried)
    none = sum(not found.named for _, found in pairs)
    other = sum(bool(f.named) and f.named != one.name and f.explains for one, f in pairs)
    return {
        "alone": len(alone),
        "named": sum(found.named == one.name for one, found in alone),
        "pairs": len(pairs),
        "both named": both,
        "one, truly": other,
        "none": none,
        "falsely": falsely,
    }
