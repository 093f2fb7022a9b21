"""Self-attention of one sequence, and what the known mistakes give."""

import numpy as np

from autograder.oracles.blocks import right_arrays, weights_of
from course_utils.checks.judge import Mistakes
from course_utils.checks.wire import Ask


def outputs(ask: Ask, mistakes: Mistakes) -> list[np.ndarray]:
    X, W_Q, W_K, W_V, mask = (ask.options["args"] + [None])[:5]
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    if "queries-and-keys-swapped" in mistakes:
        Q, K = K, Q
    values = V
    if "values-not-projected" in mistakes:
        values = X
    if "keys-as-values" in mistakes:
        values = X @ W_K
    if "scaled-by-model-size" in mistakes:
        Q = Q * np.sqrt(Q.shape[1] / X.shape[1])
    weights = weights_of(Q, K, mask, mistakes)
    with np.errstate(all="ignore"):
        found = [weights @ values, weights]
    return found[::-1] if "outputs-swapped" in mistakes else found


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    return {} if ask.label.startswith("bad") else right_arrays(outputs, ask)
