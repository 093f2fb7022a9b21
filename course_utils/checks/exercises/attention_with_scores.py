"""attention(query, keys, values, score): weights softmax(score), context sum_s a_s v_s; three scores.

The score that the judge plugs in is q^T M k with an M of its own, so an answer that always takes
the dot product is told apart.
"""

from collections.abc import Mapping

import numpy as np

from course_utils.checks.judge import (
    Check,
    Evidence,
    Misconception,
    Property,
    Wrong,
    differ,
    same,
)
from course_utils.checks.layer_checks import (
    batch_of_one_lost,
    changes_its_input,
    cut_off,
    fits_everywhere,
    slopes_match,
    stays_and_repeats,
)
from course_utils.checks.wire import Ask

ATTENTION = {  # label: B, S, D, V
    "main": (4, 5, 3, 6),
    "square": (3, 3, 3, 3),
    "batch of one": (1, 4, 3, 2),
    "one state": (2, 1, 3, 4),
}
DOT = {"dot main": (4, 5, 3), "dot wide": (2, 3, 6), "dot one": (1, 1, 2)}  # B, S, D
ADDITIVE = {"additive main": (3, 4, 2, 5), "additive one": (1, 1, 3, 2)}  # B, S, D, A
LINEAR = {"linear main": (3, 4, 5, 7), "linear all places": (2, 6, 3, 6)}  # B, S, D, longest
NAMES = ("query", "keys", "values")
WEIGHTS = "attention: the weights are the softmax of score(query, keys) over the source"
CONTEXT = "attention: the context is the weighted sum of the values"


def asks(rng: np.random.Generator) -> list[Ask]:
    def normal(*shape: int) -> np.ndarray:
        return 0.8 * rng.standard_normal(shape)

    questions = []
    for label, (B, S, D, V) in ATTENTION.items():
        arrays = [normal(B, D), normal(B, S, D), normal(B, S, V)]
        options = {"target": "attention", "args": [*arrays, {"bilinear": normal(D, D)}]}
        if label == "main":
            options["upstream"] = [normal(B, V), normal(B, S)]
            options["directions"] = [*(rng.standard_normal(a.shape) for a in arrays), None]
        questions.append(Ask(label, "call", options))
    for label, (B, S, D) in DOT.items():
        questions.append(_call(label, "dot_score", normal(B, D), normal(B, S, D)))
    for label, (B, S, D, A) in ADDITIVE.items():
        parameters = normal(A, D), normal(A, D), normal(A)
        questions.append(_call(label, "additive_score", normal(B, D), normal(B, S, D), *parameters))
    for label, (B, S, D, longest) in LINEAR.items():
        places = normal(longest, D), normal(longest)
        questions.append(_call(label, "linear_score", normal(B, D), normal(B, S, D), *places))
    return questions


def _call(label: str, target: str, *args: np.ndarray) -> Ask:
    return Ask(label, "call", {"target": target, "args": list(args)})


def read(e: Evidence, label: str) -> list[np.ndarray]:
    B, S, _, V = ATTENTION[label]
    return e.outputs(label, (B, V), (B, S))


def weights_match(e: Evidence) -> None:
    for label in ("main", "square"):
        B, S, _, _ = ATTENTION[label]
        if e.reply(label).notes.get("out_count") != "2":
            read(e, label)  # says that two results are wanted
        same(
            e.expected(label)["right/1"],
            e.array(label, "out1", (B, S), ordinal=1),
            e.tolerance(label),
            "The weights are not the softmax of the scores that `score` gives.",
            "scores = score(query, keys) is [B, S]; the softmax runs over its last axis.",
            ("text", "source position s"),
        )


def context_matches(e: Evidence) -> None:
    for label in ("main", "square"):
        context, weights = read(e, label)
        right, own = (
            e.expected(label)["right/0"],
            np.einsum("bs,bsv->bv", weights, e.args(label)[2]),
        )
        wrong = differ(right, context, e.tolerance(label))
        if wrong and not differ(own, context, e.tolerance(label)):
            raise Wrong(f"Waiting for: {WEIGHTS}.")  # it is the sum of these weights
        same(
            right,
            context,
            e.tolerance(label),
            "The context is not the weighted sum of the values.",
            "For one text b: weights[b, 0] * values[b, 0] + weights[b, 1] * values[b, 1] + ...",
            ("text", "component"),
        )


def sound(e: Evidence) -> None:
    for label in ("batch of one", "one state"):
        B, S, D, V = ATTENTION[label]
        sizes = f"With B={B}, S={S}, D={D} and values of size {V}"
        try:
            context, _ = read(e, label)
        except Wrong as wrong:
            raise Wrong(f"{sizes}: {wrong.message}", wrong.hint) from None
        same(e.expected(label)["right/0"], context, e.tolerance(label), f"{sizes} it is wrong.")
    B, S, _, V = ATTENTION["main"]
    stays_and_repeats(e, "main", [(B, V), (B, S)], NAMES)
    slopes_match(e, "main", NAMES)


def score_matches(sizes: Mapping[str, tuple[int, ...]], equation: str, hint: str):
    """A property: a score function gives its equation, [B, S]."""

    def holds(e: Evidence) -> None:
        for label, (B, S, *_) in sizes.items():
            (got,) = e.outputs(label, (B, S))
            same(
                e.expected(label)["right/0"],
                got,
                e.tolerance(label),
                f"The scores are not {equation}.",
                hint,
                ("text", "source position s"),
            )

    return holds


exercise = Check(
    id="attention-with-scores",
    asks=asks,
    properties=(
        Property(WEIGHTS, 1, weights_match),
        Property(CONTEXT, 1, context_matches),
        Property(
            "attention: any size works, inputs stay, and gradients flow",
            1,
            sound,
            needs=(WEIGHTS, CONTEXT),
        ),
        Property(
            "dot_score is q · k_s",
            1,
            score_matches(
                DOT,
                "q · k_s",
                "For one text b: the dot product of query[b] with each row of keys[b]. There is no scale.",
            ),
        ),
        Property(
            "additive_score is v · tanh(W q + U k_s)",
            1,
            score_matches(
                ADDITIVE,
                "v · tanh(W q + U k_s)",
                "W q has the shape [B, A], and U k has [B, S, A]: the first needs an axis for s.",
            ),
        ),
        Property(
            "linear_score is w_s · q + b_s",
            1,
            score_matches(
                LINEAR,
                "w_s · q + b_s for the first S places",
                "W q + b has a score for each of the L places. Keep the first S.",
            ),
        ),
    ),
    misconceptions=(
        changes_its_input(),
        Misconception(
            "score-ignored",
            "Your attention uses the dot product, whatever `score` it is given.",
            "Call the function that comes in: score(query, keys).",
        ),
        Misconception(
            "softmax-over-batch",
            "Your softmax runs over the batch, so weights from different texts sum to one.",
            "The texts of a batch should never mix. The source is the last axis: dim=-1.",
        ),
        Misconception(
            "mean-pooling",
            "Every state gets the same weight, which is a plain mean.",
            "The weights should depend on the scores.",
        ),
        Misconception(
            "argmax",
            "Your weights pick only the largest score, instead of sharing as the softmax does.",
            "A hard choice has no gradient. Use the softmax.",
        ),
        Misconception(
            "raw-scores",
            "You use the scores themselves as weights. The softmax is missing.",
            "Weights are softmax(scores): they are positive and sum to one.",
        ),
        Misconception(
            "sigmoid",
            "Your weights are sigmoids: each lies between 0 and 1, but they do not sum to one.",
            "Positions compete for attention: that is what the softmax does.",
        ),
        Misconception(
            "exp-without-sum",
            "Your weights are exp(scores), but you do not divide them by their sum.",
            "The softmax is exp(z_s), divided by the sum of exp(z) over the source.",
        ),
        Misconception(
            "softmax-twice",
            "The softmax is applied twice, which flattens the weights.",
            "Apply it only once.",
        ),
        Misconception(
            "keys-for-values",
            "Your context mixes the keys. It does not use the values.",
            "Keys are compared with the query, and values are mixed.",
        ),
        Misconception(
            "best-value-for-context",
            "Your context is the value with the largest weight, not the weighted sum.",
            "Multiply every value by its weight and add them up over the source.",
        ),
        Misconception(
            "mean-value-for-context",
            "Your context is the plain mean of the values. It does not use the weights.",
            "Multiply every value by its weight and add them up over the source.",
        ),
        Misconception(
            "mean-for-sum",
            "Your context is divided by the source length: a mean, not a sum.",
            "The weights already sum to one. Use the sum over the source axis, not the mean.",
        ),
        Misconception(
            "outputs-swapped",
            "The two results are returned in the wrong order.",
            "Return the context first, then the weights.",
        ),
        Misconception(
            "scaled-by-sqrt-d",
            "Your dot_score is divided by the square root of D, but there is no scale here.",
            "The scale comes in a later notebook. Leave the dot products as they are here.",
        ),
        Misconception(
            "scaled-by-d",
            "Your dot_score is divided by D: it is a mean over the components, not a sum.",
            "A dot product is the sum of the products.",
        ),
        Misconception(
            "negative-dot",
            "Your dot_score has the wrong sign, so the best match gets the lowest score.",
            "A good match has a large dot product, so keep its sign.",
        ),
        Misconception(
            "no-tanh",
            "The tanh is missing from your additive_score.",
            "Without it, the query adds the same number to all scores, which the softmax cancels.",
        ),
        Misconception(
            "tanh-after-v",
            "Your additive_score takes the tanh last, but it belongs inside, before v.",
            "First compute tanh(W q + U k_s), which is a vector, then its dot product with v.",
        ),
        Misconception(
            "product-inside",
            "Your additive_score multiplies W q by U k_s, but it should add them.",
            "It is called additive: tanh(W q + U k_s).",
        ),
        Misconception(
            "matrices-exchanged",
            "Your additive_score applies W to the keys and U to the query.",
            "It should be the other way round: W for the query, U for the keys.",
        ),
        Misconception(
            "bias-left-out",
            "The b_s is missing from your linear_score.",
            "A place can be likely whatever the query is, and that is what b_s is for.",
        ),
        Misconception(
            "last-places",
            "Your linear_score uses the last rows of W, but the source begins at place 0.",
            "A source of S steps needs the first S rows of W and the first S entries of b.",
        ),
        Misconception(
            "places-meet-keys",
            "Your linear_score compares w_s with the key, but it should compare it with the query.",
            "The linear score depends only on the query and the place.",
        ),
        batch_of_one_lost(("batch of one", "one state"), read),
        cut_off("main", NAMES),
    ),
    choices=(
        (
            "score-ignored",
            "softmax-over-batch",
            "mean-pooling",
            "argmax",
            "raw-scores",
            "sigmoid",
            "exp-without-sum",
            "softmax-twice",
        ),
        ("keys-for-values", "best-value-for-context", "mean-value-for-context", "mean-for-sum"),
        ("outputs-swapped",),
        ("scaled-by-sqrt-d", "scaled-by-d", "negative-dot"),
        ("no-tanh", "tanh-after-v", "product-inside", "matrices-exchanged"),
        ("bias-left-out", "last-places", "places-meet-keys"),
    ),
    fits=fits_everywhere(),
)
