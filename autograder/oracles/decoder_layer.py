"""The decoder layer in NumPy, and what the known mistakes give."""

import numpy as np

from autograder.oracles.blocks import right_arrays
from autograder.oracles.layers import Layer, decoder_layer
from course_utils.checks.judge import Mistakes
from course_utils.checks.wire import Ask


def outputs(ask: Ask, mistakes: Mistakes) -> list[np.ndarray] | None:
    _, num_heads, _, norm_first, dropout = (ask.options["init"] + [False, 0.0])[:5]
    arguments = (ask.options["args"] + [None, None])[:4]
    parameters = ask.options["fill"]["named"]
    layer = Layer(parameters, "", num_heads, norm_first, mistakes, dropped=dropout == 1.0)
    return [decoder_layer(layer, *arguments)]


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    return right_arrays(outputs, ask)
