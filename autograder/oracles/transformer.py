"""The whole transformer in NumPy, and what the known mistakes give."""

import numpy as np

from autograder.oracles.blocks import right_arrays
from autograder.oracles.layers import Transformer
from course_utils.checks.judge import Mistakes
from course_utils.checks.wire import Ask


def outputs(ask: Ask, mistakes: Mistakes) -> list[np.ndarray]:
    _, num_heads, num_layers, *_ = ask.options["init"]
    norm_first, dropout = (ask.options["init"][6:] + [False, 0.0])[:2]
    parameters = ask.options["fill"]["named"]
    model = Transformer(
        parameters, num_heads, num_layers, norm_first, mistakes, dropped=dropout == 1.0
    )
    return [model.logits(*ask.options["args"])]


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    return {} if ask.label.startswith("bad") else right_arrays(outputs, ask)
