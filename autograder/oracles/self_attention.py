"""Self-attention of one sequence, one row after another, and what the known mistakes give."""

import numpy as np

from autograder.oracles.blocks import head, remembered, slopes, with_mistakes
from course_utils.checks.wire import Ask

TWISTS = [
    "no-scale",
    "scaled-by-d",
    "multiplied-by-sqrt-d",
    "scaled-by-model-size",
    "negative-scores",
    "raw-scores",
    "softmax-over-queries",
    "softmax-over-everything",
    "sigmoid",
    "queries-and-keys-swapped",
    "mask-ignored",
    "mask-inverted",
    "mask-transposed",
    "mask-after-softmax",
    "masked-with-zero",
]


def self_attention(X, W_Q, W_K, W_V, mask=None, twist: str = ""):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    if twist == "queries-and-keys-swapped":
        Q, K = K, Q
    if twist == "scaled-by-model-size":
        Q = Q * np.sqrt(Q.shape[1]) / np.sqrt(X.shape[1])
    return head(Q, K, V, mask, twist)


@remembered
def oracle(ask: Ask) -> dict[str, np.ndarray]:
    if ask.label.startswith("bad"):
        return {}
    arguments = ask.options["args"]
    padded = [*arguments, *[None] * (5 - len(arguments))]
    arrays = with_mistakes(self_attention, TWISTS, *padded)
    if "directions" in ask.options:
        o = ask.options
        arrays["slopes"] = slopes(self_attention, arguments, o["directions"], o["upstream"])
    return arrays
