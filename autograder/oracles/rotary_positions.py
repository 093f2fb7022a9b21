"""Rotary positions pair by pair, and what the known mistakes give."""

import math

import numpy as np

from autograder.oracles.blocks import chosen, right_arrays
from course_utils.checks.judge import Mistakes
from course_utils.checks.wire import Ask


def turned(x: float, y: float, angle: float, mistakes: Mistakes) -> tuple[float, float]:
    cos, sin = math.cos(angle), math.sin(angle)
    if "turned-backwards" in mistakes:
        sin = -sin
    if "sine-and-cosine-exchanged" in mistakes:
        cos, sin = sin, cos
    if "only-cosine" in mistakes:
        sin = 0.0
    return x * cos - y * sin, x * sin + y * cos


def outputs(ask: Ask, mistakes: Mistakes) -> list[np.ndarray]:
    (x,) = ask.options["args"]
    named = ask.options.get("kwargs", {})
    first = 0 if "first-ignored" in mistakes else named.get("first", 0)
    first += 1 if "positions-from-one" in mistakes else 0
    base = 10000.0 if "base-ignored" in mistakes else named.get("base", 10000.0)
    *outer, T, d = x.shape
    factor = {"exponent-not-doubled": -1, "one-speed": 0, "speeds-growing": 2}
    result = np.empty_like(x)
    for place in np.ndindex(*outer, T, d // 2):
        *where, t, i = place
        angle = (first + t) * base ** (chosen(mistakes, factor, -2) * i / d)
        one, other = (i, i + d // 2) if "halves" in mistakes else (2 * i, 2 * i + 1)
        to = (i, i + d // 2) if mistakes & {"halves", "not-put-back"} else (one, other)
        at = (*where, t)
        result[(*at, to[0])], result[(*at, to[1])] = turned(
            x[(*at, one)], x[(*at, other)], angle, mistakes
        )
    return [result]


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    return {} if ask.label.startswith("bad") else right_arrays(outputs, ask)
