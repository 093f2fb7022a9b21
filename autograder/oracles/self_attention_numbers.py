"""Self-attention on X: the right numbers, and what the usual slips give."""

import math

import numpy as np

from autograder.oracles import loops
from course_utils.checks.wire import Ask


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    given = ask.options["given"]
    X = given["X"]
    Q, K, V = (loops.product(X, given[name]) for name in ("W_Q", "W_K", "W_V"))
    Z, P = loops.attention(Q, K, V)
    found = {"Q": Q, "K": K, "V": V, "P": P, "Z": Z}
    found |= {
        "queries-keys-swapped/Q": K,
        "queries-values-swapped/Q": V,
    }
    d, D = K.shape[1], X.shape[1]
    for name, output in {
        "no-scale": loops.attention(Q, K, V, divisor=1.0),
        "scaled-by-d": loops.attention(Q, K, V, divisor=d),
        "scale-of-input-size": loops.attention(Q, K, V, divisor=math.sqrt(D)),
        "softmax-over-columns": loops.attention(Q, K, V, weights=loops.columns),
        "softmax-over-everything": loops.attention(Q, K, V, weights=loops.everything),
        "no-sum": loops.attention(Q, K, V, weights=loops.powers),
        "no-exp": loops.attention(Q, K, V, weights=loops.shares_without_exp),
        "argmax": loops.attention(Q, K, V, weights=loops.largest_only),
        "scores-of-keys": loops.attention(K, Q, V),
    }.items():
        found[f"{name}/Z"], found[f"{name}/P"] = output
    for name, _, weights, mixed in loops.rounded_too_early(Q, K, V):
        found |= {f"{name}/P": weights, f"{name}/Z": mixed}
    found["map-transposed/P"] = P.T
    found["map-transposed/Z"] = loops.product(P.T, V)
    found["weights-transposed/Z"] = loops.product(P.T, V)
    scales = {"no-scale": 1.0, "scaled-by-d": float(d), "scale-of-input-size": math.sqrt(D)}
    rules = {"softmax-over-columns": loops.columns, "softmax-over-everything": loops.everything}
    for scale, divisor in scales.items():
        for rule, softmax in rules.items():
            both = loops.attention(Q, K, V, divisor=divisor, weights=softmax)
            found[f"{scale}-and-{rule}/Z"], found[f"{scale}-and-{rule}/P"] = both
    found["keys-mixed/Z"] = loops.product(P, K)
    found["queries-mixed/Z"] = loops.product(P, Q)
    return found
