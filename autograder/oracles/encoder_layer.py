"""The encoder layer in NumPy, and what the known mistakes give."""

import numpy as np

from autograder.oracles.blocks import right_arrays
from autograder.oracles.layers import Layer, encoder_layer
from course_utils.checks.judge import Mistakes
from course_utils.checks.wire import Ask


def outputs(ask: Ask, mistakes: Mistakes) -> list[np.ndarray]:
    _, num_heads, _, norm_first, dropout = (ask.options["init"] + [False, 0.0])[:5]
    x, mask = (ask.options["args"] + [None])[:2]
    parameters = ask.options["fill"]["named"]
    layer = Layer(parameters, "", num_heads, norm_first, mistakes, dropped=dropout == 1.0)
    return [encoder_layer(layer, x, mask)]


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    return right_arrays(outputs, ask)
