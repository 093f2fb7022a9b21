"""One query on the rows of X: the right numbers, and what the usual slips give."""

import math

import numpy as np

from autograder.oracles import loops
from course_utils.checks.wire import Ask


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    X, q = ask.options["given"]["X"], ask.options["given"]["q"]
    raw = np.array([sum(x * y for x, y in zip(row, q)) for row in X])
    d, length = len(q), len(X)
    right = _from(X, raw / math.sqrt(d))
    found = dict(right)
    for name, scores in {
        "no-scale": raw,
        "scaled-by-d": raw / d,
        "scale-of-the-example": raw / math.sqrt(2),
        "scale-of-length": raw / math.sqrt(length),
        "multiplied-by-sqrt-d": raw * math.sqrt(d),
        "wrong-sign": -raw / math.sqrt(d),
    }.items():
        found |= {f"{name}/{key}": array for key, array in _from(X, scores).items()}
    scores = right["scores"]
    for name, shares in {
        "no-sum": np.exp(scores),
        "no-exp": scores / scores.sum(),
        "argmax": np.eye(length)[int(scores.argmax())],
        "softmax-of-raw": loops.softmax(raw),
    }.items():
        found[f"{name}/probabilities"] = shares
        found[f"{name}/output"] = _mix(shares, X)
    for name, z, P, Z in loops.rounded_too_early(q[None], X, X):
        found |= {f"{name}/scores": z[0], f"{name}/probabilities": P[0], f"{name}/output": Z[0]}
    found["mean/output"] = X.mean(axis=0)
    found["scores-as-weights/output"] = _mix(scores, X)
    return found


def _from(X: np.ndarray, scores: np.ndarray) -> dict[str, np.ndarray]:
    shares = loops.softmax(scores)
    return {"scores": scores, "probabilities": shares, "output": _mix(shares, X)}


def _mix(shares: np.ndarray, rows: np.ndarray) -> np.ndarray:
    total = np.zeros(rows.shape[1])
    for share, row in zip(shares, rows):
        total += share * row
    return total
