"""Seeds for hidden checks."""

import random

HIDDEN_SEEDS = 3

source: random.Random = random.SystemRandom()


def fresh_seeds(count: int = HIDDEN_SEEDS) -> tuple[int, ...]:
    """Seeds that nobody has seen before; the grader records them."""
    return tuple(source.randrange(2, 2**31 + 2) for _ in range(count))


def repeat(number: int | None) -> None:
    """From now on draw the same seeds for the same number, for repeatable tests."""
    global source
    source = random.SystemRandom() if number is None else random.Random(number)
