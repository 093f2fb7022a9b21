"""The equations of attention as plain loops in float64: what the verdicts compare with."""

import math

import numpy as np


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
