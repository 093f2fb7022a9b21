"""How the learning rate changes from step to step."""

from collections.abc import Callable


def warm_up(rising: int, total: int) -> Callable[[int], float]:
    """A factor for the learning rate: it rises linearly for `rising` steps, then falls to zero."""

    def factor(step: int) -> float:
        return max(0.0, min(step / rising, (total - step + 1) / max(1, total - rising)))

    return factor
