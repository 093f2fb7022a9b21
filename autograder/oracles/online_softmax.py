"""One block of attention, query by query and key by key, and what the known mistakes give."""

import math

import numpy as np

from autograder.oracles.blocks import chosen, right_arrays
from course_utils.checks.judge import Mistakes
from course_utils.checks.wire import Ask


def power(exponent: float) -> float:
    """exp as in torch: overflow gives infinity, and NaN stays NaN."""
    return math.inf if exponent > 700 else math.exp(exponent)


def one_query(kept, scores, values, new: float, mistakes: Mistakes):
    """The new total and sum of one query, now that its largest score is `new`."""
    largest, total, summed = kept
    shrink = power(largest - new)
    of_total = of_sum = shrink
    if mistakes & {"old-sums-not-scaled", "total-not-scaled"}:
        of_total = 1.0
    if mistakes & {"old-sums-not-scaled", "sum-not-scaled"}:
        of_sum = 1.0
    if "old-sums-forgotten" in mistakes:
        of_total = of_sum = 0.0
    total, summed = total * of_total, summed * of_sum
    for score, value in zip(scores, values):
        total = total + power(score - new)
        summed = summed + (1.0 if "values-not-used" in mistakes else power(score - new)) * value
    return total, summed / total if "already-divided" in mistakes else summed


def outputs(ask: Ask, mistakes: Mistakes) -> list[np.ndarray]:
    largest, total, summed, query, keys, values = ask.options["args"]
    d = query.shape[1]
    scales = {"no-scale": 1.0, "scaled-by-d": float(d)}
    scores = query @ keys.T / chosen(mistakes, scales, math.sqrt(d))
    new = np.maximum(largest, scores.max(axis=1))
    if "largest-of-the-block" in mistakes:
        new = scores.max(axis=1)
    if "one-largest-for-all" in mistakes:
        new = np.full(len(new), new.max())
    if "largest-never-changes" in mistakes:
        new = largest
    with np.errstate(all="ignore"):
        rows = [
            one_query((largest[t], total[t], summed[t]), scores[t], values, new[t], mistakes)
            for t in range(len(query))
        ]
    return [new, np.array([row[0] for row in rows]), np.stack([row[1] for row in rows])]


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    return right_arrays(outputs, ask)
