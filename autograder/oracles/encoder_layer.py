"""The encoder layer in NumPy, and what the known mistakes give."""

import numpy as np

from autograder.oracles.blocks import remembered, slopes, with_mistakes
from autograder.oracles.layers import encoder_layer
from course_utils.checks.wire import Ask

TWISTS = [
    "norm-first-ignored",
    "always-norm-first",
    "no-norms",
    "one-norm-for-all",
    "no-residuals",
    "no-residual-around-attention",
    "no-residual-around-feed-forward",
    "residual-from-the-norm",
    "norm-inside-the-sum",
    "feed-forward-first",
    "no-feed-forward",
    "mask-ignored",
    "mask-inverted",
]


@remembered
def oracle(ask: Ask) -> dict[str, np.ndarray]:
    options = ask.options
    num_heads = options["init"][1]
    norm_first, dropout = (options["init"][3:] + [False, 0.0])[:2]
    mask = (options["args"] + [None])[1]

    def function(x, twist=""):
        return (
            encoder_layer(
                options["fill"]["named"],
                "",
                x,
                mask,
                num_heads,
                norm_first,
                twist,
                dropped=dropout == 1.0,
            ),
        )

    arrays = with_mistakes(function, TWISTS, options["args"][0])
    if "directions" in options:
        arrays["slopes"] = slopes(
            function, options["args"][:1], options["directions"], options["upstream"]
        )
    return arrays
