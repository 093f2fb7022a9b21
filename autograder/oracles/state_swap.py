"""Each text with the states of the text before it, and what the known mistakes give."""

import numpy as np

from autograder.oracles.blocks import chosen, right_arrays
from course_utils.checks.judge import Mistakes
from course_utils.checks.wire import Ask

SWAPS = {
    "steps-rolled": lambda states: np.roll(states, 1, axis=1),
    "other-way": lambda states: np.roll(states, -1, axis=0),
    "reversed": lambda states: states[::-1],
    "nothing-swapped": lambda states: states,
}


def from_the_text_before(states: np.ndarray) -> np.ndarray:
    return np.array([states[b - 1] for b in range(len(states))])


def outputs(ask: Ask, mistakes: Mistakes) -> list[np.ndarray]:
    states, bottleneck = ask.options["args"]
    swapped = chosen(mistakes, SWAPS, from_the_text_before)(states)
    if "bottleneck-too" in mistakes:
        bottleneck = np.roll(bottleneck, 1, axis=1)
    return [bottleneck, swapped] if "outputs-swapped" in mistakes else [swapped, bottleneck]


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    return right_arrays(outputs, ask)
