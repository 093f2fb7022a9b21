"""The whole transformer in NumPy, and what the known mistakes give."""

import numpy as np

from autograder.oracles.blocks import remembered, with_mistakes
from autograder.oracles.layers import transformer
from course_utils.checks.wire import Ask

TWISTS = [
    "no-causal-mask",
    "causal-mask-one-ahead",
    "source-mask-ignored",
    "encoder-mask-ignored",
    "cross-mask-ignored",
    "no-source-positions",
    "no-target-positions",
    "embeddings-not-scaled",
    "positions-scaled-too",
    "no-final-norms",
    "no-encoder-norm",
    "no-decoder-norm",
    "one-layer-only",
    "layers-not-chained",
    "decoder-reads-embeddings",
    "probabilities",
]


@remembered
def oracle(ask: Ask) -> dict[str, np.ndarray]:
    if ask.label.startswith("bad"):
        return {}
    options = ask.options
    _, num_heads, num_layers, *_ = options["init"]
    norm_first, dropout = (options["init"][6:] + [False, 0.0])[:2]
    source, target, source_mask = (options["args"] + [None])[:3]

    def function(source, target, twist=""):
        return (
            transformer(
                options["fill"]["named"],
                source,
                target,
                source_mask,
                num_heads,
                num_layers,
                norm_first,
                twist,
                dropped=dropout == 1.0,
            ),
        )

    # The other questions are only compared with what is right.
    told = TWISTS if ask.label in ("main", "before", "padded") else []
    return with_mistakes(function, told, source, target)
