"""How the learning rate changes from step to step."""

from collections.abc import Callable


def warm_up(rising: int, total: int) -> Callable[[int], float]:
    """A factor on the learning rate: up in a line for `rising` steps, then down to zero."""

    def factor(step: int) -> float:
        return max(0.0, min(step / rising, (total - step + 1) / max(1, total - rising)))

    return factor
