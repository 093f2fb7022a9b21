"""Multi-head attention in loops, and what the known mistakes give."""

import math

import numpy as np

from autograder.oracles import loops
from course_utils.checks.wire import Ask


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    X, W_Q, W_K, W_V, W_O = ask.options["args"]
    heads, D, d = W_Q.shape
    length, dv = len(X), W_V.shape[2]

    def each(order=None, keys=W_K, queries=W_Q, **how) -> list[np.ndarray]:
        return [
            loops.attention(
                loops.product(X, queries[h]),
                loops.product(X, keys[h]),
                loops.product(X, W_V[h]),
                **how,
            )[0]
            for h in (order or range(heads))
        ]

    def joined(outputs: list[np.ndarray]) -> np.ndarray:
        return loops.product(np.concatenate(outputs, axis=1), W_O)

    right = each()
    nothing = [np.zeros((length, dv))] * (heads - 1)
    mixed = np.stack(right, axis=2).reshape(length, heads * dv)
    found = {
        "output": joined(right),
        "no-scale": joined(each(divisor=1.0)),
        "scaled-by-d": joined(each(divisor=d)),
        "scale-of-input-size": joined(each(divisor=math.sqrt(D))),
        "scale-of-all-heads": joined(each(divisor=math.sqrt(heads * d))),
        "scale-of-value-size": joined(each(divisor=math.sqrt(dv))),
        "scale-of-length": joined(each(divisor=math.sqrt(length))),
        "softmax-over-queries": joined(each(weights=loops.columns)),
        "no-softmax": joined(each(weights=loops.untouched)),
        "no-sum": joined(each(weights=loops.powers)),
        "first-head-only": joined([right[0], *nothing]),
        "first-head-repeated": joined(each([0] * heads)),
        "heads-in-other-order": joined(each(list(reversed(range(heads))))),
        "heads-interleaved": loops.product(mixed, W_O),
        "queries-keys-swapped": joined(each(keys=W_Q, queries=W_K)),
    }
    if W_O.shape[0] == W_O.shape[1]:
        found["output-matrix-left-out"] = np.concatenate(right, axis=1)
        found["output-matrix-transposed"] = loops.product(np.concatenate(right, axis=1), W_O.T)
    return found
