"""attend: scores q . h_s, weights softmax(scores) over the source, context sum_s a_s h_s."""

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

SIZES = {  # label: B, S, D
    "main": (4, 5, 3),
    "wide": (2, 3, 6),
    "square": (3, 3, 3),
    "batch of one": (1, 4, 3),
    "one state": (2, 1, 3),
    "single": (1, 1, 2),
}
NAMES = ("query", "states")
WEIGHTS = "the weights are softmax(q · h_s) over the source"
CONTEXT = "the context is the weighted sum of the states"


def asks(rng: np.random.Generator) -> list[Ask]:
    questions = []
    for label, (B, S, D) in SIZES.items():
        args = [0.8 * rng.standard_normal((B, D)), 0.8 * rng.standard_normal((B, S, D))]
        options = {"target": "attend", "args": args}
        if label == "main":
            options["upstream"] = [rng.standard_normal((B, D)), rng.standard_normal((B, S))]
            options["directions"] = [rng.standard_normal(a.shape) for a in args]
        questions.append(Ask(label, "call", options))
    return questions


def read(e: Evidence, label: str) -> list[np.ndarray]:
    B, S, D = SIZES[label]
    return e.outputs(label, (B, D), (B, S))


def read_weights(e: Evidence, label: str) -> np.ndarray:
    B, S, _ = SIZES[label]
    if e.reply(label).notes.get("out_count") != "2":
        read(e, label)  # says that two results are wanted
    return e.array(label, "out1", (B, S), ordinal=1)


def weights_match(e: Evidence) -> None:
    for label in ("main", "wide", "square"):
        same(
            e.expected(label)["right/1"],
            read_weights(e, label),
            e.tolerance(label),
            "The weights are not the softmax of the dot products.",
            "Take one text b: its scores are states[b] @ query[b], then softmax over them.",
            ("text", "source position s"),
        )


def context_matches(e: Evidence) -> None:
    for label in ("main", "wide", "square"):
        context, weights = read(e, label)
        expected = e.expected(label)["right/0"]
        if not differ(expected, context, e.tolerance(label)):
            continue
        # Wrong weights cost the points of the weights, not those of the context as well.
        _, states = e.args(label)
        own = np.array([weights[b] @ states[b] for b in range(len(states))])
        shares = not differ(np.ones(len(weights)), weights.sum(-1), 1e-4)
        varied = differ(np.full(weights.shape, 1 / weights.shape[1]), weights, 1e-3)
        if not differ(own, context, e.tolerance(label)):
            if shares and varied:
                continue
            raise Wrong(f"Waiting for: {WEIGHTS}.")  # it is the sum of these weights
        same(
            expected,
            context,
            e.tolerance(label),
            "The context is not the weighted sum of the states.",
            "For one text b: weights[b, 0] * states[b, 0] + weights[b, 1] * states[b, 1] + ...",
            ("text", "component"),
        )


def any_size_works(e: Evidence) -> None:
    for label in ("batch of one", "one state", "single"):
        B, S, D = SIZES[label]
        try:
            context, _ = read(e, label)
        except Wrong as wrong:
            raise Wrong(f"With B={B}, S={S}, D={D}: {wrong.message}", wrong.hint) from None
        same(
            e.expected(label)["right/0"],
            context,
            e.tolerance(label),
            f"The context is wrong with B={B}, S={S}, D={D}.",
        )


def clean(e: Evidence) -> None:
    B, S, D = SIZES["main"]
    stays_and_repeats(e, "main", [(B, D), (B, S)], NAMES)
    slopes_match(e, "main", NAMES)


exercise = Check(
    id="attend",
    asks=asks,
    properties=(
        Property(WEIGHTS, 4, weights_match),
        Property(CONTEXT, 4, context_matches),
        Property("a batch or a source of one works", 2, any_size_works, needs=(CONTEXT,)),
        Property("inputs stay as they were, and gradients flow", 2, clean, needs=(CONTEXT,)),
    ),
    misconceptions=(
        changes_its_input(),
        Misconception(
            "outputs-swapped",
            "The two results are returned in the wrong order.",
            "Return the context first, then the weights.",
        ),
        Misconception(
            "softmax-over-batch",
            "Your softmax runs over the batch, so weights from different texts sum to one.",
            "The texts of a batch should never mix. The source is the last axis: dim=-1.",
        ),
        Misconception(
            "scaled-by-sqrt-d",
            "Your scores are divided by the square root of d, but this exercise has no scale.",
            "The scale comes in a later notebook. Leave the dot products as they are here.",
        ),
        Misconception(
            "scaled-by-d",
            "Your scores are divided by d, but this exercise has no scale.",
            "A mean over the components is a dot product divided by d. Use the sum.",
        ),
        Misconception(
            "mean-pooling",
            "Every state gets the same weight, which is a plain mean.",
            "The weights should depend on how well the query matches each state.",
        ),
        Misconception(
            "argmax",
            "Your weights pick only the largest score, instead of sharing as the softmax does.",
            "A hard choice has no gradient. Use the softmax.",
        ),
        Misconception(
            "raw-scores",
            "You return the scores themselves. The softmax is missing.",
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
            "sum-without-exp",
            "You divide the scores by their sum. The exponential is missing.",
            "The softmax is exp(z_s), divided by the sum of exp(z) over the source.",
        ),
        Misconception(
            "softmax-twice",
            "The softmax is applied twice, which flattens the weights.",
            "Apply it only once.",
        ),
        Misconception(
            "negative-scores",
            "Your scores have the wrong sign, so the best match gets the smallest weight.",
            "A good match has a large dot product, so keep its sign.",
        ),
        Misconception(
            "last-state-for-context",
            "Your context is just the last state: the bottleneck is back.",
            "Multiply every state by its weight and add them up over the source.",
        ),
        Misconception(
            "best-state-for-context",
            "Your context is the state with the largest weight, not the weighted sum.",
            "Multiply every state by its weight and add them up over the source.",
        ),
        Misconception(
            "mean-state-for-context",
            "Your context is the plain mean of the states. It does not use the weights.",
            "Multiply every state by its weight and add them up over the source.",
        ),
        Misconception(
            "mean-for-sum",
            "Your context is divided by the source length: a mean, not a sum.",
            "The weights already sum to one. Use the sum over the source axis, not the mean.",
        ),
        Misconception(
            "query-added",
            "The query is added to the context.",
            "Return only the weighted sum of the states. The readout joins it with the query.",
        ),
        Misconception(
            "scores-for-context",
            "Your context uses the scores, not the weights.",
            "Take the softmax first, then the weighted sum.",
        ),
        Misconception(
            "context-keeps-an-axis",
            "The context keeps an axis of size one.",
            "A query [B, 1, D] gives a context [B, 1, D]. Remove the axis with squeeze(1).",
            lambda e: (
                e.reply("main").arrays["out0"].squeeze().shape == (4, 3)
                and e.reply("main").arrays["out0"].ndim == 3
            ),
        ),
        batch_of_one_lost(("batch of one", "one state", "single"), read),
        cut_off("main", NAMES),
    ),
    choices=(
        (
            "scaled-by-sqrt-d",
            "scaled-by-d",
        ),
        ("negative-scores",),
        (
            "softmax-over-batch",
            "mean-pooling",
            "argmax",
            "raw-scores",
            "sigmoid",
            "exp-without-sum",
            "sum-without-exp",
            "softmax-twice",
        ),
        (
            "last-state-for-context",
            "best-state-for-context",
            "mean-state-for-context",
            "mean-for-sum",
            "query-added",
            "scores-for-context",
        ),
        ("outputs-swapped",),
    ),
    fits=fits_everywhere(),
)
