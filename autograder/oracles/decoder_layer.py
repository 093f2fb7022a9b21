"""The decoder layer in NumPy, and what the known mistakes give."""

import numpy as np

from autograder.oracles.blocks import remembered, slopes, with_mistakes
from autograder.oracles.layers import decoder_layer
from course_utils.checks.wire import Ask

TWISTS = [
    "norm-first-ignored",
    "always-norm-first",
    "no-norms",
    "one-norm-for-all",
    "no-residuals",
    "no-residual-around-attention",
    "no-residual-around-cross-attention",
    "no-residual-around-feed-forward",
    "residual-from-the-norm",
    "norm-inside-the-sum",
    "cross-attends-to-itself",
    "same-attention-twice",
    "cross-attention-first",
    "no-cross-attention",
    "no-feed-forward",
    "memory-normalised",
    "self-mask-ignored",
    "self-mask-inverted",
    "memory-mask-ignored",
]


@remembered
def oracle(ask: Ask) -> dict[str, np.ndarray]:
    options = ask.options
    num_heads = options["init"][1]
    norm_first, dropout = (options["init"][3:] + [False, 0.0])[:2]
    _, _, self_mask, memory_mask = (options["args"] + [None, None])[:4]

    def function(x, memory, twist=""):
        return (
            decoder_layer(
                options["fill"]["named"],
                "",
                x,
                memory,
                self_mask,
                memory_mask,
                num_heads,
                norm_first,
                twist,
                dropped=dropout == 1.0,
            ),
        )

    arrays = with_mistakes(function, TWISTS, *options["args"][:2])
    if "directions" in options:
        arrays["slopes"] = slopes(
            function, options["args"][:2], options["directions"], options["upstream"]
        )
    return arrays
