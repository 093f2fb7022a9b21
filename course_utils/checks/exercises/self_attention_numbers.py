"""Self-attention on X: typed rows of Q, P and Z; K and V are given."""

import numpy as np

from course_utils.by_hand import practice
from course_utils.checks.typed import NearMiss, typed_exercise

SWAPPED = "Q = X W_Q, K = X W_K, V = X W_V: each has its own matrix."
SCALES = {
    "no-scale": "Your scores are not scaled.",
    "scaled-by-d": "Your scores are divided by 2, not by the square root of 2.",
    "scale-of-input-size": "Your scores are divided by the square root of 3, not of 2.",
}
RULES = {
    "softmax-over-columns": "Your softmax runs down the columns, not along the rows.",
    "softmax-over-everything": "Your softmax runs over all 16 scores at once.",
}


def _weights(Q: np.ndarray, K: np.ndarray) -> np.ndarray:
    return practice.shares_of(Q @ K.T / np.sqrt(K.shape[1]))


exercise = typed_exercise(
    "self-attention-numbers",
    "self-attention",
    {"Q": 1, "P": 3, "Z": 2},
    [
        NearMiss("queries-keys-swapped", "Q and K are swapped.", SWAPPED),
        NearMiss("queries-values-swapped", "Q and V are swapped.", SWAPPED),
        NearMiss(
            "no-scale",
            "Your scores are not scaled before the softmax.",
            "Divide Q K^T by the square root of d. Queries have two entries, so d = 2.",
        ),
        NearMiss(
            "scaled-by-d",
            "You divided the scores by 2: that is d (or the square root of the length), not the "
            "square root of d.",
            "d = 2 is the number of columns of Q and K; divide by its square root, 1.414.",
        ),
        NearMiss(
            "scale-of-input-size",
            "You divided by the square root of 3, the size of the tokens in X.",
            "d is the size of queries and keys after the projection: 2.",
        ),
        NearMiss(
            "softmax-over-columns",
            "Your softmax runs down the columns, so the weights of each key sum to one over the queries.",
            "A row belongs to one query. Each row of P sums to one.",
        ),
        NearMiss(
            "softmax-over-everything",
            "Your softmax runs over all 16 scores at once.",
            "Each row of P sums to one by itself.",
        ),
        NearMiss(
            "no-sum",
            "You took exp of the scores, but did not divide by the sum of the row.",
            "Each row of P sums to one.",
        ),
        NearMiss(
            "no-exp",
            "You divided the scores by the sum of the row without taking exp first.",
            "The softmax is exp(z), divided by the sum of exp(z) over the row.",
        ),
        NearMiss(
            "argmax",
            "You gave all the weight of a row to its largest score: that is argmax.",
            "The softmax gives every key some weight, if only a little.",
        ),
        NearMiss(
            "scores-of-keys",
            "Your scores are K Q^T: rows and columns are swapped before the softmax.",
            "Row i belongs to query i: Q K^T.",
        ),
        NearMiss(
            "map-transposed",
            "P is transposed: its columns belong to the queries.",
            "Row i of P holds the weights that query i gives to the four keys.",
        ),
        NearMiss(
            "weights-transposed",
            "Your Z is P^T V: it weights the values by a column of P.",
            "Row i of Z is the sum of the values, each times its weight in row i of P.",
        ),
        *(
            NearMiss(
                f"{scale}-and-{rule}",
                f"There are two mistakes. {SCALES[scale]} {RULES[rule]}",
                "Go one step at a time: first the scaled scores, then the softmax of each row.",
            )
            for scale in SCALES
            for rule in RULES
        ),
        NearMiss("keys-mixed", "Your Z mixes the keys.", "Z = P V: the weights mix the values."),
        NearMiss(
            "queries-mixed", "Your Z mixes the queries.", "Z = P V: the weights mix the values."
        ),
    ],
    rows=2,
    shares=["P"],
    follows={
        "P": (("Q", "X", "W_K"), lambda Q, X, W_K: _weights(Q, X @ W_K)),
        "Z": (("P", "X", "W_V"), lambda P, X, W_V: P @ (X @ W_V)),
    },
)
