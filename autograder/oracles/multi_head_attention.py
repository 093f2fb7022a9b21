"""Multi-head attention in NumPy, head by head, and what the known mistakes give."""

import numpy as np

from autograder.oracles.blocks import attend, linear, remembered, slopes, with_mistakes
from course_utils.checks.wire import Ask

TWISTS = [
    "no-scale",
    "scaled-by-d",
    "scaled-by-model-size",
    "scaled-by-number-of-heads",
    "multiplied-by-sqrt-d",
    "softmax-over-queries",
    "softmax-over-heads",
    "raw-scores",
    "mask-ignored",
    "mask-inverted",
    "mask-after-softmax",
    "masked-with-zero",
    "keys-as-values",
    "queries-as-keys",
    "values-not-projected",
    "keys-projected-by-query-matrix",
    "heads-interleaved",
    "heads-by-view",
    "heads-merged-by-view",
    "no-output-projection",
]


@remembered
def oracle(ask: Ask) -> dict[str, np.ndarray]:
    if ask.label.startswith("bad"):
        return {}
    parameters = ask.options["fill"]["named"]
    _, num_heads = ask.options["init"]
    projections = [
        lambda x, name=name: linear(x, parameters, name) for name in ("W_Q", "W_K", "W_V", "W_O")
    ]
    mask = (ask.options["args"] + [None])[3]

    def function(query, key, value, twist=""):
        return attend(query, key, value, projections, num_heads, mask, twist)

    arguments = ask.options["args"][:3]
    arrays = with_mistakes(function, TWISTS, *arguments)
    if "directions" in ask.options:
        o = ask.options
        arrays["slopes"] = slopes(function, arguments, o["directions"], o["upstream"])
    return arrays
