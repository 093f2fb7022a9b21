"""The causal mask entry by entry, and what the known mistakes give."""

import numpy as np

from autograder.oracles.blocks import chosen, right_arrays
from course_utils.checks.judge import Mistakes
from course_utils.checks.wire import Ask

RULES = {
    "upper-triangle": lambda t, s: s >= t,
    "one-step-ahead": lambda t, s: s <= t + 1,
    "blind-to-itself": lambda t, s: s < t,
    "true-where-forbidden": lambda t, s: s > t,
    "all-allowed": lambda t, s: True,
}


def outputs(ask: Ask, mistakes: Mistakes) -> list[np.ndarray]:
    (L,) = ask.options["args"]
    rule = chosen(mistakes, RULES, lambda t, s: s <= t)
    return [np.array([[float(rule(t, s)) for s in range(L)] for t in range(L)])]


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    return right_arrays(outputs, ask)
