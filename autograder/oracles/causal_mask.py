"""The causal mask entry by entry, and what the known mistakes give."""

import numpy as np

from course_utils.checks.wire import Ask

RULES = {
    "right": lambda t, s: s <= t,
    "upper-triangle": lambda t, s: s >= t,
    "one-step-ahead": lambda t, s: s <= t + 1,
    "blind-to-itself": lambda t, s: s < t,
    "true-where-forbidden": lambda t, s: s > t,
    "all-allowed": lambda t, s: True,
}


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    (L,) = ask.options["args"]
    return {
        f"{name}/0": np.array([[float(rule(t, s)) for s in range(L)] for t in range(L)])
        for name, rule in RULES.items()
    }
