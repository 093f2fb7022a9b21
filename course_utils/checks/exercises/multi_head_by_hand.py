"""multi_head_by_hand: several heads and W_O without a product of matrices."""

import numpy as np

from course_utils.checks import by_hand
from course_utils.checks.judge import Check, Evidence
from course_utils.checks.wire import Ask

# Heads, length, size of tokens, of queries and keys, of values, of the output.
SIZES = {
    "main": (2, 4, 5, 3, 2, 6),
    "wide": (3, 3, 4, 2, 5, 2),
    "square": (2, 4, 5, 2, 3, 6),
    "one": (2, 1, 3, 2, 2, 3),
}
WATCHED = ("main", "wide")


def asks(rng: np.random.Generator) -> list[Ask]:
    found = []
    for label, (H, L, D, d, dv, do) in SIZES.items():
        args = [
            by_hand.draw(rng, L, D),
            by_hand.draw(rng, H, D, d),
            by_hand.draw(rng, H, D, d),
            by_hand.draw(rng, H, D, dv),
            by_hand.draw(rng, H * dv, do),
        ]
        options = {"target": "multi_head_by_hand", "args": args, "watch": True}
        found.append(Ask(label, "call", options))
    return found


def shape(e: Evidence, label: str) -> tuple[int, int]:
    return SIZES[label][1], SIZES[label][5]


def _named(name: str, sentence: str, hint: str, label: str = "main"):
    return by_hand.named(shape, label, name, sentence, hint)


exercise = Check(
    id="multi-head-by-hand",
    asks=asks,
    properties=by_hand.properties(shape, ("main", "wide", "square"), "one"),
    misconceptions=(
        by_hand.uses_product(shape, WATCHED),
        by_hand.returned_parts("main", lambda e: SIZES["main"][1]),
        _named(
            "no-scale",
            "Your scores are not scaled: each head should divide by the square root of its own d.",
            "d is the last size of W_K.",
        ),
        _named(
            "scaled-by-d", "Your scores are divided by d, not by its square root.", "Scale by √d."
        ),
        _named(
            "scale-of-input-size",
            "You divided by the square root of D, the size of the tokens.",
            "d is the size of one head's queries and keys: W_K.shape[2].",
        ),
        _named(
            "scale-of-all-heads",
            "You divided by the square root of the size of all heads together.",
            "d is the size of one head's queries and keys: W_K.shape[2].",
        ),
        _named(
            "scale-of-value-size",
            "You divided by the square root of the size of the values.",
            "d is the size of the vectors that the dot product compares: W_K.shape[2].",
        ),
        _named(
            "scale-of-length",
            "You divided by the square root of the length.",
            "d is the size of one head's queries and keys: W_K.shape[2].",
        ),
        _named(
            "softmax-over-queries",
            "Your softmax runs over the queries.",
            "For each query i, the weights of all keys j sum to one.",
        ),
        _named(
            "no-softmax",
            "You weight the values by the scores themselves. The softmax is missing.",
            "Take exp of each score, and divide by the sum over the keys.",
        ),
        _named(
            "no-sum",
            "You take exp of the scores, but do not divide by their sum.",
            "For each query i, divide by the sum of exp(z_ir) over the keys r.",
        ),
        _named(
            "first-head-only",
            "Only the first head reaches the output.",
            "Run over all heads h, and put their results side by side.",
        ),
        _named(
            "first-head-repeated",
            "Every head uses the matrices of the first.",
            "Head h has W_Q[h], W_K[h] and W_V[h].",
        ),
        _named(
            "heads-in-other-order",
            "The heads are joined in the wrong order.",
            "r_i = [r_i of head 1, r_i of head 2, ...].",
        ),
        _named(
            "heads-interleaved",
            "The entries of different heads get mixed when you join them.",
            "First all entries of head 1, then all of head 2: torch.cat, not a reshape.",
        ),
        _named(
            "queries-keys-swapped",
            "Queries and keys are swapped.",
            "q_i = x_i W_Q, k_j = x_j W_K.",
        ),
        _named(
            "output-matrix-left-out",
            "W_O is missing: the heads are joined side by side, but nothing mixes them.",
            "Multiply the joined row by W_O.",
            "square",
        ),
        _named(
            "output-matrix-transposed",
            "You multiplied by the transpose of W_O.",
            "r_i W_O: a row times the columns of W_O.",
            "square",
        ),
    ),
)
