"""Sine positions entry by entry, and what the known mistakes give."""

import math

import numpy as np

from autograder.oracles.blocks import chosen, right_arrays
from course_utils.checks.judge import Mistakes
from course_utils.checks.wire import Ask


def entry(t: int, j: int, d: int, mistakes: Mistakes) -> float:
    """The entry for position t in column j."""
    pair: float
    pair, is_cosine = (j, False) if j < d // 2 else (j - d // 2, True)
    if "two-halves" not in mistakes:
        pair, is_cosine = j // 2, j % 2 == 1
    if "each-column-its-own-rate" in mistakes:
        pair = j / 2
    if "pairs-count-from-one" in mistakes:
        pair += 1
    times = {"exponent-halved": 1, "exponent-doubled": 4, "multiplied-by-wavelength": -2}
    base = 1000 if "base-1000" in mistakes else 10_000
    angle = (t + ("starts-at-one" in mistakes)) * base ** (-chosen(mistakes, times, 2) * pair / d)
    if "turns-for-radians" in mistakes:
        angle *= 2 * math.pi
    if "sine-and-cosine-swapped" in mistakes:
        is_cosine = not is_cosine
    if "all-sines" in mistakes:
        is_cosine = False
    return math.cos(angle) if is_cosine else math.sin(angle)


def outputs(ask: Ask, mistakes: Mistakes) -> list[np.ndarray]:
    L, d = ask.options["args"]
    return [np.array([[entry(t, j, d, mistakes) for j in range(d)] for t in range(L)])]


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    return {} if ask.label.startswith("bad") else right_arrays(outputs, ask)
