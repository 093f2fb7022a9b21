"""How the learning rate changes from step to step."""

from collections.abc import Callable


def warm_up(rising: int, total: int) -> Callable[[int], float]:
    """A factor on the learning rate: up in a line for `rising` steps, then down to zero."""

    def factor(step: int) -> float:
        up = step / rising if rising else 1.0
        down = (total - step + 1) / max(1, total - rising)
        return max(0.0, min(up, down))

    return factor
