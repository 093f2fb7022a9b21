"""MultiHeadAttention: several heads side by side, each on its own slice, joined by W_O."""

from typing import Any

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
    changes_its_input,
    cut_off,
    fits_everywhere,
    refused,
    slopes_match,
    stays_and_repeats,
)
from course_utils.checks.wire import Ask

SIZES = {  # label: B, T, S, D, num_heads
    "main": (2, 4, 5, 6, 2),
    "square": (2, 4, 4, 6, 3),
    "one head": (2, 3, 5, 4, 1),
    "masked": (2, 4, 5, 6, 2),
    "masked for each": (3, 4, 5, 6, 2),
    "single": (1, 1, 1, 4, 2),
    "steep": (1, 8, 8, 4, 2),  # a square mask
}
NAMES = ("query", "key", "value")
MASKS = ("masked", "masked for each")
WEIGHTS, OUTPUT, MASKED = (
    "every head's weights are softmax(Q K^T / sqrt(d)) on its own slice",
    "the heads are joined and go through W_O",
    "no weight goes where the mask says False",
)


def parameters(rng, D: int) -> dict:
    drawn = {}
    for name in ("W_Q", "W_K", "W_V", "W_O"):
        drawn[f"{name}.weight"] = rng.standard_normal((D, D)) * 1.1 / np.sqrt(D)
        drawn[f"{name}.bias"] = 0.3 * rng.standard_normal(D)
    return drawn


def some_mask(rng, *shape: int) -> np.ndarray:
    """Each row allows something and forbids something."""
    mask = rng.random(shape) < 0.5
    rows = mask.reshape(-1, shape[-1])
    for number, row in enumerate(rows):
        row[number % len(row)], row[(number + 2) % len(row)] = True, False
    return mask


def steep(rng, args: list, given: dict, num_heads: int) -> list:
    """The same with scores so large that a mask that fills in -100 is not low enough."""
    query, key, value = args
    while True:
        query, key = 20 * rng.standard_normal(query.shape), 20 * rng.standard_normal(key.shape)
        mask = np.eye(key.shape[1], dtype=bool)[rng.integers(0, key.shape[1], query.shape[1])]
        Q, K = (
            (x @ given[f"{name}.weight"].T + given[f"{name}.bias"]).reshape(
                *x.shape[:2], num_heads, -1
            )
            for name, x in (("W_Q", query), ("W_K", key))
        )
        scores = np.einsum("bthd,bshd->bhts", Q, K) / np.sqrt(Q.shape[-1])
        if (np.where(mask, scores, 0.0) < -250).sum() > 1:
            return [query, key, value, mask]


def asks(rng: np.random.Generator) -> list[Ask]:
    questions = []
    for label, (B, T, S, D, num_heads) in SIZES.items():
        args = [1.2 * rng.standard_normal((B, n, D)) for n in (T, S, S)]
        options: dict[str, Any] = {
            "target": "MultiHeadAttention",
            "init": [D, num_heads],
            "args": args,
            "fill": {"named": parameters(rng, D)},
        }
        if label == "main":
            shapes = (B, T, D), (B, num_heads, T, S)
            options["other"] = [a[:-1, :-1] for a in args]
            options["upstream"] = [rng.standard_normal(shape) for shape in shapes]
            options["directions"] = [rng.standard_normal(a.shape) for a in args]
        if label == "masked":
            args.append(some_mask(rng, T, S))
            everything = np.ones((T - 1, S - 1), bool)
            options["other"] = [*(a[:-1, :-1] for a in args[:3]), everything]
        if label == "masked for each":
            args.append(some_mask(rng, B, T, S))
        if label == "steep":
            args[:] = steep(rng, args, options["fill"]["named"], num_heads)
        questions.append(Ask(label, "call", options))
    B, T, S, D, num_heads = SIZES["main"]
    args = [rng.standard_normal((B, n, D)) for n in (T, S, S)]
    nothing = np.ones((T, S), bool)
    nothing[2] = False
    for label, mask in {
        "bad shape": np.ones((T + 3, S), bool),
        "bad type": np.ones((T, S)),
        "bad row": nothing,
    }.items():
        options = {"target": "MultiHeadAttention", "init": [D, num_heads], "args": [*args, mask]}
        questions.append(Ask(label, "call", options))
    return [
        *questions,
        Ask("bad heads", "call", {"target": "MultiHeadAttention", "init": [6, 4], "args": args}),
    ]


def read(e: Evidence, label: str) -> list[np.ndarray]:
    B, T, S, D, num_heads = SIZES[label]
    return e.outputs(label, (B, T, D), (B, num_heads, T, S))


def weights_match(e: Evidence) -> None:
    for label in ("main", "square", "one head", "single"):
        B, T, S, D, num_heads = SIZES[label]
        same(
            e.expected(label)["right/1"],
            read(e, label)[1],
            e.tolerance(label),
            f"With B={B}, T={T}, S={S}, D={D}, num_heads={num_heads}, the weights are wrong.",
            "Head h uses the columns h*d : (h+1)*d of Q and K. The scale uses the same "
            "d = D / num_heads.",
            ("query", "key"),
        )


def output_matches(e: Evidence) -> None:
    for label in ("main", "square", "one head", "single"):
        output, weights = read(e, label)
        if not differ(e.expected(label)["right/0"], output, e.tolerance(label)):
            continue
        # Wrong weights cost their own points; joining them rightly earns these.
        if not differ(_joined(e, label, weights), output, e.tolerance(label)):
            if not differ(np.ones(weights.shape[:-1]), weights.sum(-1), 1e-4):
                continue
            raise Wrong(f"Waiting for: {WEIGHTS}.")  # the heads are joined rightly
        same(
            e.expected(label)["right/0"],
            output,
            e.tolerance(label),
            "The output is not W_O applied to the heads' outputs side by side.",
            "From [B, num_heads, T, d] to [B, T, num_heads, d] (transpose), then to [B, T, D].",
            ("position", "component"),
        )


def _joined(e: Evidence, label: str, weights: np.ndarray) -> np.ndarray:
    """The output that belongs to the student's own weights."""
    *_, D, num_heads = SIZES[label]
    given, value = e.options(label)["fill"]["named"], e.args(label)[2]
    V = value @ given["W_V.weight"].T + given["W_V.bias"]
    size = D // num_heads
    parts = [weights[:, h] @ V[:, :, h * size : (h + 1) * size] for h in range(num_heads)]
    return np.concatenate(parts, -1) @ given["W_O.weight"].T + given["W_O.bias"]


def mask_holds(e: Evidence) -> None:
    plain = not differ(e.expected("main")["right/1"], read(e, "main")[1], 1e-4)
    for label in ("masked", "masked for each"):
        _, weights = read(e, label)
        mask = e.args(label)[3]
        wide = np.broadcast_to(mask[:, None] if mask.ndim == 3 else mask, weights.shape)
        if weights[~wide].max() > 1e-9:
            raise Wrong(
                "Positions that the mask forbids still get weight.",
                "Fill forbidden scores with minus infinity before the softmax. A mask [B, T, S] "
                "needs an axis for the heads.",
                e.expected(label)["right/1"][0, 0],
                weights[0, 0],
                ("query", "key"),
            )
        sums = weights.sum(axis=-1)
        if differ(np.ones_like(sums), sums, e.tolerance(label)):
            raise Wrong(
                "With a mask, the rows of weights no longer sum to one.",
                "Mask the scores before the softmax, not the weights after it.",
            )
        if plain:
            same(
                e.expected(label)["right/1"],
                weights,
                e.tolerance(label),
                "The weights are wrong with a mask.",
                "Allowed scores stay as they are.",
                ("query", "key"),
            )
    far_enough(e)


def far_enough(e: Evidence) -> None:
    """However low the allowed scores are, forbidden keys get nothing."""
    _, weights = read(e, "steep")
    forbidden = np.broadcast_to(~e.args("steep")[3], weights.shape)
    if differ(np.zeros(1), weights[forbidden], 1e-6):
        raise Wrong(
            "With large scores, positions that the mask forbids get weight: the number that you "
            "fill in is not low enough.",
            "Scores can be far below -100. Fill with minus infinity (-1e9 is low enough too).",
            e.expected("steep")["right/1"][0, 0],
            weights[0, 0],
            ("query", "key"),
        )


def bad_input_refused(e: Evidence) -> None:
    refused(e, "bad heads", "d_model = 6 with num_heads = 4", (6, 4))
    refused(e, "bad shape", "A mask of the shape [7, 5] for 4 queries and 5 keys", (7, 5))
    refused(e, "bad type", "A mask of floating-point numbers")
    refused(e, "bad row", "A mask in which row 2 allows nothing", (2,))


def stays(e: Evidence) -> None:
    B, T, S, D, num_heads = SIZES["main"]
    shapes = (B, T, D), (B, num_heads, T, S)
    stays_and_repeats(e, "main", shapes, NAMES)
    stays_and_repeats(e, "masked", shapes, (*NAMES, "mask"))
    slopes_match(e, "main", NAMES)


exercise = Check(
    id="multi-head-attention",
    asks=asks,
    properties=(
        Property(WEIGHTS, 1.5, weights_match),
        Property(OUTPUT, 1.25, output_matches),
        Property(MASKED, 1.25, mask_holds),
        Property(
            "sizes and masks that do not fit are refused", 0.5, bad_input_refused, needs=(WEIGHTS,)
        ),
        Property(
            "two calls agree, inputs stay as they were, gradients flow",
            0.5,
            stays,
            needs=(WEIGHTS, OUTPUT),
        ),
    ),
    misconceptions=(
        changes_its_input(),
        Misconception(
            "outputs-swapped",
            "The two results are returned in the wrong order.",
            "Return the output first, then the weights.",
        ),
        Misconception(
            "heads-averaged",
            "The weights are averaged over the heads.",
            "Return them for every head: [B, num_heads, T, S].",
        ),
        Misconception(
            "scaled-by-model-size",
            "The scale is the square root of d_model, but the vectors of each head have size "
            "d_model / num_heads.",
            "d is the size of the vectors whose dot product you take.",
        ),
        Misconception(
            "scaled-by-number-of-heads",
            "The scale is the square root of num_heads, not of the size of a head.",
            "d is the size of the vectors whose dot product you take.",
        ),
        Misconception(
            "no-scale",
            "Your scores are not scaled: they should be divided by the square root of d.",
            "d = d_model / num_heads, the size of a head.",
        ),
        Misconception(
            "scaled-by-d",
            "Your scores are divided by d, not by its square root.",
            "The scale is sqrt(d): d ** 0.5.",
        ),
        Misconception(
            "multiplied-by-sqrt-d",
            "Your scores are multiplied by the square root of d, but they should be divided by it.",
            "A large d makes large dot products, and the scale makes them smaller again.",
        ),
        Misconception(
            "heads-by-view",
            "The heads are split with view(B, num_heads, T, d), which mixes positions with heads.",
            "First view(B, T, num_heads, d), then transpose(1, 2).",
        ),
        Misconception(
            "heads-merged-by-view",
            "The heads are joined without swapping the axes back, which mixes positions.",
            "transpose(1, 2) first, then reshape(B, T, D).",
        ),
        Misconception(
            "heads-interleaved",
            "Your heads take every num_heads-th column, but each should take a block of d columns.",
            "Split the last axis as (num_heads, d): the heads come before d.",
        ),
        Misconception(
            "softmax-over-queries",
            "Your softmax runs over the queries, not over the keys.",
            "The weights of each query sum to one over the keys: dim=-1.",
        ),
        Misconception(
            "softmax-over-heads",
            "Your softmax runs over the heads, so they compete, but the keys should.",
            "In every head, the weights of each query sum to one over the keys: dim=-1.",
        ),
        Misconception(
            "raw-scores",
            "The softmax is missing.",
            "The weights of a query are positive and sum to one.",
        ),
        Misconception(
            "keys-as-values",
            "The values are made from `key`; `value` is not used.",
            "V = W_V(value).",
        ),
        Misconception(
            "queries-as-keys",
            "The keys are made from `query`, which only works for self-attention.",
            "K = W_K(key): the keys come from the sequence that is looked at.",
        ),
        Misconception(
            "keys-projected-by-query-matrix", "The keys go through W_Q.", "K = W_K(key)."
        ),
        Misconception(
            "values-not-projected",
            "The values do not go through W_V.",
            "V = W_V(value), then split into heads.",
        ),
        Misconception(
            "no-output-projection",
            "The joined heads are returned directly: W_O is missing.",
            "W_O mixes what the heads have found. Apply it last.",
        ),
        Misconception(
            "mask-ignored",
            "The mask has no effect.",
            "Fill the forbidden scores with minus infinity before the softmax.",
        ),
        Misconception(
            "mask-inverted",
            "The mask is inverted: you block what it allows.",
            "True means that attention is allowed. Fill where the mask is False.",
        ),
        Misconception(
            "mask-after-softmax",
            "The mask is applied after the softmax, so the rows no longer sum to one.",
            "Put minus infinity into the scores, then take the softmax.",
        ),
        Misconception(
            "masked-with-minus-100",
            "Forbidden scores are set to -100, so with large scores forbidden keys still get weight.",
            "Only minus infinity (or -1e9) is far enough below every score.",
        ),
        Misconception(
            "mask-times-infinity",
            "The mask is multiplied by infinity, but 0 times infinity is NaN.",
            "masked_fill or torch.where put minus infinity only where it is needed.",
        ),
        Misconception(
            "masked-with-zero",
            "Forbidden scores are set to 0, but exp(0) is 1, so they still get weight.",
            "Only minus infinity becomes a weight of 0.",
        ),
        cut_off("main", NAMES),
    ),
    choices=(
        (
            "no-scale",
            "scaled-by-d",
            "scaled-by-model-size",
            "scaled-by-number-of-heads",
            "multiplied-by-sqrt-d",
        ),
        (
            "softmax-over-queries",
            "softmax-over-heads",
            "raw-scores",
        ),
        (
            "mask-ignored",
            "mask-inverted",
            "mask-after-softmax",
            "masked-with-zero",
            "masked-with-minus-100",
            "mask-times-infinity",
        ),
        (
            "keys-as-values",
            "values-not-projected",
        ),
        (
            "queries-as-keys",
            "keys-projected-by-query-matrix",
        ),
        (
            "heads-interleaved",
            "heads-by-view",
        ),
        ("heads-merged-by-view",),
        ("no-output-projection",),
        ("outputs-swapped",),
        ("heads-averaged",),
    ),
    fits=fits_everywhere(),
)
