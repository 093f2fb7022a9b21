"""Attention in plain loops, with a switch for each way to get it wrong."""

import math
from collections.abc import Iterator

import numpy as np

STEPS = ("root", "scores", "powers", "weights")


def softmax(scores) -> np.ndarray:
    largest = max(float(z) for z in scores)
    powers = [math.exp(float(z) - largest) for z in scores]
    total = sum(powers)
    return np.array([p / total for p in powers])


def product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The product of two matrices, number by number."""
    result = np.zeros((left.shape[0], right.shape[1]))
    for i in range(left.shape[0]):
        for j in range(right.shape[1]):
            for k in range(left.shape[1]):
                result[i, j] += left[i, k] * right[k, j]
    return result


def attention(
    Q: np.ndarray,
    K: np.ndarray,
    V: np.ndarray,
    *,
    divisor: float | None = None,
    weights=None,
) -> tuple[np.ndarray, np.ndarray]:
    """Output and weights; `divisor` replaces sqrt(d), `weights` the row-wise softmax."""
    divisor = math.sqrt(K.shape[1]) if divisor is None else divisor
    scores = product(Q, K.T) / divisor
    P = (weights or rows)(scores)
    return product(P, V), P


def rows(scores: np.ndarray) -> np.ndarray:
    return np.array([softmax(row) for row in scores])


def columns(scores: np.ndarray) -> np.ndarray:
    return rows(scores.T).T


def everything(scores: np.ndarray) -> np.ndarray:
    return softmax(scores.reshape(-1)).reshape(scores.shape)


def powers(scores: np.ndarray) -> np.ndarray:
    return np.exp(scores)


def shares_without_exp(scores: np.ndarray) -> np.ndarray:
    total = scores.sum(axis=1, keepdims=True)
    # A row that sums to zero has no such shares, so no student can have typed them.
    return scores / np.where(total == 0, np.nan, total)


def untouched(scores: np.ndarray) -> np.ndarray:
    return scores


def largest_only(scores: np.ndarray) -> np.ndarray:
    return np.eye(scores.shape[1])[scores.argmax(axis=1)]


def uniform(scores: np.ndarray) -> np.ndarray:
    return np.full(scores.shape, 1 / scores.shape[1])


def rounded_too_early(
    Q: np.ndarray, K: np.ndarray, V: np.ndarray
) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Ways to round a step, or every step, to 2 or 3 decimals: name, scores, weights, output."""
    for digits in (2, 3):
        for name, rounded in (*((step, (step,)) for step in STEPS), ("every-step", STEPS)):

            def at(step: str, value, rounded=rounded, digits=digits):
                return np.round(value, digits) if step in rounded else value

            scores = at("scores", product(Q, K.T) / at("root", math.sqrt(K.shape[1])))
            exps = at("powers", np.exp(scores))
            total = exps.sum(axis=1, keepdims=True)
            P = at("weights", exps / np.where(total == 0, np.nan, total))
            yield f"rounded-too-early:{name}-{digits}", scores, P, product(P, V)
