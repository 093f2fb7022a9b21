"""attention_by_hand: scaled dot-product attention without a product of matrices."""

import numpy as np

from course_utils.checks import by_hand
from course_utils.checks.judge import Check, Evidence
from course_utils.checks.wire import Ask

# Length, size of queries and keys, size of values.
SIZES = {"main": (5, 3, 2), "wide": (3, 6, 4), "square": (4, 3, 3), "one": (1, 3, 2)}
WATCHED = ("main", "wide")


def asks(rng: np.random.Generator) -> list[Ask]:
    return [
        Ask(
            label,
            "call",
            {
                "target": "attention_by_hand",
                "args": [
                    1.4 * by_hand.draw(rng, L, d),
                    1.4 * by_hand.draw(rng, L, d),
                    by_hand.draw(rng, L, dv),
                ],
                "watch": True,
            },
        )
        for label, (L, d, dv) in SIZES.items()
    ]


def shape(e: Evidence, label: str) -> tuple[int, int]:
    L, _, dv = SIZES[label]
    return L, dv


def _named(name: str, sentence: str, hint: str, label: str = "main"):
    return by_hand.named(shape, label, name, sentence, hint)


exercise = Check(
    id="attention-by-hand",
    asks=asks,
    properties=by_hand.properties(shape, ("main", "wide", "square"), "one"),
    misconceptions=(
        by_hand.uses_product(shape, WATCHED),
        by_hand.returned_parts("main", lambda e: SIZES["main"][0]),
        _named(
            "no-scale",
            "Your scores are not scaled: they should be divided by the square root of d.",
            "d is the number of columns of K: K.shape[1] ** 0.5.",
        ),
        _named("scaled-by-d", "Your scores are divided by d, not by its square root.", "d ** 0.5"),
        _named(
            "scale-of-length",
            "You divided by the square root of the length; d is the size of one key.",
            "K has the shape [L, d]: take K.shape[1].",
        ),
        _named(
            "scale-of-value-size",
            "You divided by the square root of the size of the values, not of the keys.",
            "d is the size of the vectors whose dot product you take.",
        ),
        _named(
            "multiplied-by-sqrt-d",
            "You multiplied by the square root of d where you should divide.",
            "Scaling makes the scores smaller.",
        ),
        _named(
            "softmax-over-queries",
            "Your softmax runs over the queries: the weights of one key sum to one.",
            "For each query i, the weights of all keys j sum to one.",
        ),
        _named(
            "softmax-over-everything",
            "Your softmax runs over all pairs at once.",
            "For each query i, the weights of all keys j sum to one.",
        ),
        _named(
            "no-softmax",
            "The scores themselves weigh the values; the softmax is missing.",
            "exp of each score, divided by the sum over the keys.",
        ),
        _named(
            "no-sum",
            "You take exp of the scores, but do not divide by their sum.",
            "Divide by the sum over the keys l of exp(s_il).",
        ),
        _named(
            "no-exp",
            "You divide the scores by their sum without taking exp first.",
            "p_ij = exp(s_ij) / sum_l exp(s_il)",
        ),
        _named(
            "argmax",
            "Each query takes the value of its best key alone: that is argmax.",
            "The softmax gives every key some weight.",
        ),
        _named(
            "mean",
            "Every token gets the mean of all values: the weights are all the same.",
            "The weights should depend on the scores.",
        ),
        _named(
            "queries-keys-swapped",
            "Queries and keys are swapped: row i uses key i with every query.",
            "s_ij = q_i . k_j: fix the query i, run over the keys j.",
        ),
        _named(
            "scores-of-queries", "Your scores compare queries with queries.", "s_ij = q_i . k_j"
        ),
        _named("scores-of-keys", "Your scores compare keys with keys.", "s_ij = q_i . k_j"),
        _named(
            "keys-values-swapped",
            "Keys and values are swapped.",
            "Compare the query with the keys; mix the values.",
            "square",
        ),
        _named(
            "keys-mixed",
            "The weights mix the keys; they should mix the values.",
            "The output is the weighted sum of the rows of V.",
            "square",
        ),
    ),
)
