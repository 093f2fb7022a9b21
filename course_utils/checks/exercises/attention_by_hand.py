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
            "d is the size of one key: the number of columns of K.",
        ),
        _named(
            "scaled-by-d", "Your scores are divided by d, not by its square root.", "Scale by √d."
        ),
        _named(
            "scale-of-length",
            "You divided by the square root of the length, but d is the size of one key.",
            "K has the shape [L, d], so d is its second size.",
        ),
        _named(
            "scale-of-value-size",
            "You divided by the square root of the size of the values, not that of the keys.",
            "d is the size of the vectors that the dot product compares.",
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
            "You weight the values by the scores themselves. The softmax is missing.",
            "Take exp of each score, and divide by the sum over the keys.",
        ),
        _named(
            "no-sum",
            "You take exp of the scores, but do not divide by their sum.",
            "For each query i, divide by the sum of exp(z_ir) over the keys r.",
        ),
        _named(
            "no-exp",
            "You divide the scores by their sum without taking exp first.",
            "α_ij = exp(z_ij) / Σ_r exp(z_ir)",
        ),
        _named(
            "argmax",
            "Each query takes only the value of its best key. That is argmax.",
            "The softmax gives every key some weight.",
        ),
        _named(
            "mean",
            "Every token gets the mean of all values, because the weights are all the same.",
            "The weights should depend on the scores.",
        ),
        _named(
            "queries-keys-swapped",
            "Queries and keys are swapped: row i uses key i with every query.",
            "z_ij = q_i · k_j / √d: fix the query i, and run over the keys j.",
        ),
        _named(
            "scores-of-queries",
            "Your scores compare queries with queries.",
            "z_ij = q_i · k_j / √d",
        ),
        _named("scores-of-keys", "Your scores compare keys with keys.", "z_ij = q_i · k_j / √d"),
        _named(
            "keys-values-swapped",
            "Keys and values are swapped.",
            "Compare the query with the keys; mix the values.",
            "square",
        ),
        _named(
            "keys-mixed",
            "Your weights mix the keys, but they should mix the values.",
            "The output is the weighted sum of the rows of V.",
            "square",
        ),
    ),
)
