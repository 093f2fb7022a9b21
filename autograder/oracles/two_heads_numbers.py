"""Two heads and W_O: the right numbers, and what the usual slips give."""

import math

import numpy as np

from autograder.oracles import loops
from course_utils.checks.wire import Ask


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    given = ask.options["given"]
    W_O = given["W_O"]

    def total(order=("", "2"), **how) -> np.ndarray:
        outputs = [_head(given, suffix, **how) for suffix in order]
        return loops.product(np.concatenate(outputs, axis=1), W_O)

    first, second = _head(given, ""), _head(given, "2")
    nothing = np.zeros_like(first)
    length, D = given["X"].shape
    variants = {
        "heads-in-other-order": total(("2", "")),
        "head-one-twice": total(("", "")),
        "head-two-twice": total(("2", "2")),
        "head-one-only": loops.product(np.concatenate([first, nothing], axis=1), W_O),
        "head-two-only": loops.product(np.concatenate([nothing, second], axis=1), W_O),
        "columns-interleaved": loops.product(
            np.stack([first, second], axis=2).reshape(length, -1), W_O
        ),
        "no-scale": total(divisor=1.0),
        "scaled-by-d": total(divisor=2.0),
        "scale-of-input-size": total(divisor=math.sqrt(D)),
        "softmax-over-columns": total(weights=loops.columns),
        "softmax-over-everything": total(weights=loops.everything),
    }
    return {"Z_total": total()} | {f"{name}/Z_total": a for name, a in variants.items()}


def _head(given: dict, suffix: str, **how) -> np.ndarray:
    Q, K, V = (loops.product(given["X"], given[f"W_{name}{suffix}"]) for name in "QKV")
    return loops.attention(Q, K, V, **how)[0]
