"""Sine positions entry by entry, and what the known mistakes give."""

import math

import numpy as np

from course_utils.checks.wire import Ask


def table(L: int, d: int, entry) -> np.ndarray:
    return np.array([[entry(t, j) for j in range(d)] for t in range(L)])


def wave(angle: float, j: int) -> float:
    return math.sin(angle) if j % 2 == 0 else math.cos(angle)


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    if ask.label.startswith("bad"):
        return {}
    L, d = ask.options["args"]
    half = d // 2

    def rate(i: float) -> float:
        return 10_000 ** (-2 * i / d)

    rules = {
        "right": lambda t, j: wave(t * rate(j // 2), j),
        "starts-at-one": lambda t, j: wave((t + 1) * rate(j // 2), j),
        "pairs-count-from-one": lambda t, j: wave(t * rate(j // 2 + 1), j),
        "each-column-its-own-rate": lambda t, j: wave(t * rate(j / 2), j),
        "exponent-halved": lambda t, j: wave(t * rate(j // 2 / 2), j),
        "exponent-doubled": lambda t, j: wave(t * rate(2 * (j // 2)), j),
        "multiplied-by-wavelength": lambda t, j: wave(t / rate(j // 2), j),
        "sine-and-cosine-swapped": lambda t, j: wave(t * rate(j // 2), j + 1),
        "all-sines": lambda t, j: math.sin(t * rate(j // 2)),
        "two-halves": lambda t, j: (
            math.sin(t * rate(j)) if j < half else math.cos(t * rate(j - half))
        ),
        "base-1000": lambda t, j: wave(t * 1000 ** (-2 * (j // 2) / d), j),
        "turns-for-radians": lambda t, j: wave(2 * math.pi * t * rate(j // 2), j),
    }
    if ask.label == "far":  # only compared with what is right
        rules = {"right": rules["right"]}
    return {f"{name}/0": table(L, d, rule) for name, rule in rules.items()}
