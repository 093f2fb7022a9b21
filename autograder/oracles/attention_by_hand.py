"""Scaled dot-product attention in loops, and what the known mistakes give."""

import math

import numpy as np

from autograder.oracles import loops
from course_utils.checks.wire import Ask


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    Q, K, V = ask.options["args"]
    (length, d), dv = K.shape, V.shape[1]

    def output(*matrices, **how) -> np.ndarray:
        return loops.attention(*matrices, **how)[0]

    found = {
        "output": output(Q, K, V),
        "no-scale": output(Q, K, V, divisor=1.0),
        "scaled-by-d": output(Q, K, V, divisor=d),
        "scale-of-length": output(Q, K, V, divisor=math.sqrt(length)),
        "scale-of-value-size": output(Q, K, V, divisor=math.sqrt(dv)),
        "multiplied-by-sqrt-d": output(Q, K, V, divisor=1 / math.sqrt(d)),
        "softmax-over-queries": output(Q, K, V, weights=loops.columns),
        "softmax-over-everything": output(Q, K, V, weights=loops.everything),
        "no-softmax": output(Q, K, V, weights=loops.untouched),
        "no-sum": output(Q, K, V, weights=loops.powers),
        "no-exp": output(Q, K, V, weights=loops.shares_without_exp),
        "argmax": output(Q, K, V, weights=loops.largest_only),
        "mean": output(Q, K, V, weights=loops.uniform),
        "queries-keys-swapped": output(K, Q, V),
        "scores-of-queries": output(Q, Q, V),
        "scores-of-keys": output(K, K, V),
    }
    if d == dv:
        found["keys-values-swapped"] = output(Q, V, K)
        found["keys-mixed"] = output(Q, K, K)
    return found
