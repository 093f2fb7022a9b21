"""W_O without one head, entry by entry, and what the known mistakes give."""

import numpy as np

from autograder.oracles.blocks import right_arrays
from course_utils.checks.judge import Mistakes
from course_utils.checks.wire import Ask


def outputs(ask: Ask, mistakes: Mistakes) -> list[np.ndarray]:
    W_O, num_heads, head = ask.options["args"]
    D = len(W_O)
    d = D // num_heads

    def of_the_head(place: int) -> bool:
        if "interleaved" in mistakes:
            return place % num_heads == head
        if "next-head" in mistakes:
            return (head + 1) * d <= place < (head + 2) * d
        if "num-heads-columns" in mistakes:
            return head * num_heads <= place < (head + 1) * num_heads
        return head * d <= place < (head + 1) * d

    result = np.zeros((D, D))
    for row in range(D):
        for column in range(D):
            silent = of_the_head(row if "rows-not-columns" in mistakes else column)
            if "only-this-head" in mistakes:
                silent = not silent
            if not silent:
                result[row, column] = W_O[row, column]
    return [result]


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    return right_arrays(outputs, ask)
