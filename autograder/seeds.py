"""Seeds for hidden checks."""

import secrets

HIDDEN_SEEDS = 3


def fresh_seeds(count: int = HIDDEN_SEEDS) -> tuple[int, ...]:
    """Seeds that nobody has seen before; whoever grades records them."""
    return tuple(secrets.randbelow(2**31) + 2 for _ in range(count))
