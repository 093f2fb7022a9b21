"""Multi-head attention in NumPy, and what the known mistakes give."""

import numpy as np

from autograder.oracles.blocks import attend, linear, right_arrays
from course_utils.checks.judge import Mistakes
from course_utils.checks.wire import Ask


def outputs(ask: Ask, mistakes: Mistakes) -> list[np.ndarray] | None:
    parameters = ask.options["fill"]["named"]
    _, num_heads = ask.options["init"]
    projections = [
        lambda x, name=name: linear(x, parameters, name) for name in ("W_Q", "W_K", "W_V", "W_O")
    ]
    query, key, value, mask = (ask.options["args"] + [None])[:4]
    found = attend(query, key, value, projections, num_heads, mask, mistakes)
    if found is None:
        return None
    output, weights = found
    if "heads-averaged" in mistakes:
        weights = weights.mean(axis=1)
    return [weights, output] if "outputs-swapped" in mistakes else [output, weights]


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    return {} if ask.label.startswith("bad") else right_arrays(outputs, ask)
