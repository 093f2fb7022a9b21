"""A few numbers that represent the arrays an answer returns, to tell one mistake from another.

A student's copy has no code that computes wrong answers, and hundreds of whole arrays would be too
large to ship. The signature of an array is its shape, its largest number and a few random sums of
its entries. Two arrays with the same signature are equal except for rounding.
"""

from collections.abc import Sequence

import numpy as np

MOST_AXES, SUMS = 4, 4
LENGTH = MOST_AXES + 1 + SUMS
MOST_NUMBERS = 100_000
ROUNDING = 4.0  # a random sum is off by at most this many times what each entry is off by


def signature(arrays: Sequence[np.ndarray] | None) -> np.ndarray:
    """[number of arrays, LENGTH]; an answer that raises an error has no rows."""
    return np.array([_signature(array) for array in arrays or ()]).reshape(-1, LENGTH)


def _signature(array: np.ndarray) -> list[float]:
    if array.ndim > MOST_AXES or array.size > MOST_NUMBERS:
        raise ValueError(f"An array of shape {array.shape} does not answer any question.")
    shape = [*array.shape, *[-1] * (MOST_AXES - array.ndim)]
    # What is not finite becomes a number that no answer contains.
    values = np.nan_to_num(array.astype(float).ravel(), nan=7e3, posinf=8e3, neginf=-9e3)
    signs = np.random.default_rng(values.size).standard_normal((SUMS, values.size))
    sums = signs @ values / np.sqrt(max(1, values.size))
    return [*shape, float(np.abs(values).max(initial=0.0)), *sums]


def alike(expected: np.ndarray, got: np.ndarray, tolerance: float) -> bool:
    if expected.shape != got.shape or (expected[:, :MOST_AXES] != got[:, :MOST_AXES]).any():
        return False
    scale = np.maximum(1.0, expected[:, MOST_AXES : MOST_AXES + 1])
    off = np.abs(expected - got)[:, MOST_AXES:] / scale
    return bool((off <= ROUNDING * tolerance).all())
