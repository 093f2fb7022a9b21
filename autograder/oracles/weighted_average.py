"""The weighted average in loops, and what the known mistakes give."""

import numpy as np

from course_utils.checks.wire import Ask


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    weights, values = ask.options["args"]
    total = np.zeros(values.shape[1])
    for weight, value in zip(weights, values):
        total += weight * value
    return {
        "average": total / sum(weights),
        "not-divided": total,
        "divided-by-count": total / len(weights),
        "plain-mean": values.mean(axis=0),
    }
