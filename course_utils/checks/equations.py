"""The equations of attention as plain loops in float64: what the verdicts compare with."""

import math
import threading
from collections import OrderedDict
from collections.abc import Callable

import numpy as np

REMEMBERED = 512


def remembered(function: Callable, keep: int = REMEMBERED) -> Callable:
    """Compute once for the same arrays: a whole class is judged on one set of questions.

    Arrays are the same when they are the same object; they are kept, so that none takes the
    place of another. Sets of mistakes are the same when they are equal.
    """
    kept: OrderedDict = OrderedDict()
    lock = threading.Lock()  # a class is judged by several threads

    def once(*arrays):
        key = tuple(a if isinstance(a, frozenset) else id(a) for a in arrays)
        with lock:
            found = kept.get(key)
        if found is None:
            found = (arrays, function(*arrays))
            with lock:
                kept[key] = found
                while len(kept) > keep:
                    kept.popitem(last=False)
        return found[1]

    return once


def softmax(scores) -> np.ndarray:
    """exp(z_i) / sum_j exp(z_j), of one vector."""
    largest = max(float(z) for z in scores)
    powers = [math.exp(float(z) - largest) for z in scores]
    total = sum(powers)
    return np.array([p / total for p in powers])


def softmax_gradient(weights: np.ndarray, upstream: np.ndarray) -> np.ndarray:
    """The gradient at the scores, given that at the softmax's weights."""
    mean = sum(w * u for w, u in zip(weights, upstream))
    return np.array([w * (u - mean) for w, u in zip(weights, upstream)])


def dot(left, right) -> float:
    return float(sum(float(x) * float(y) for x, y in zip(left, right)))


def weighted_sum(weights, vectors) -> np.ndarray:
    total = np.zeros(vectors.shape[-1])
    for weight, vector in zip(weights, vectors):
        total = total + weight * vector
    return total
