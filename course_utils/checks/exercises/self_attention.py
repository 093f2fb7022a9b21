"""self_attention: softmax(Q K^T / sqrt(d)) V with Q, K, V made from one sequence, and a mask."""

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

SIZES = {  # label: L, D, d, dv
    "main": (5, 4, 3, 2),
    "masked": (5, 4, 3, 2),
    "long": (7, 3, 5, 6),
    "one": (1, 4, 3, 2),
    "steep": (10, 4, 3, 2),
}
NAMES = ("X", "W_Q", "W_K", "W_V")
WEIGHTS, OUTPUT, MASKED = (
    "each row of weights is softmax(q K^T / sqrt(d))",
    "the output is the weights times V",
    "no weight goes where the mask says False",
)


def draw(rng, L, D, d, dv) -> list:
    shapes = [(L, D), (D, d), (D, d), (D, dv)]
    return [0.9 * rng.standard_normal(shape) for shape in shapes]


def some_mask(rng, L: int) -> np.ndarray:
    """A mask with no pattern, where each row allows something and forbids something."""
    mask = rng.random((L, L)) < 0.55
    for row in range(L):
        mask[row, (row + 1) % L], mask[row, (row + 2) % L] = True, False
    return mask


def steep(rng, args: list) -> list:
    """The same with scores so large that a mask that fills in -100 is not low enough.

    Each row allows one key, and many of those scores are far below -100 however they are scaled.
    """
    X, W_Q, W_K, W_V = args
    while True:
        X = 20 * rng.standard_normal(X.shape)
        mask = np.eye(len(X), dtype=bool)[rng.permutation(len(X))]
        scores = (X @ W_Q) @ (X @ W_K).T / np.sqrt(W_Q.shape[1])
        if (scores[mask] < -250).sum() > 1:
            return [X, W_Q, W_K, W_V, mask]


def asks(rng: np.random.Generator) -> list[Ask]:
    questions = []
    for label, (L, D, d, dv) in SIZES.items():
        args = draw(rng, L, D, d, dv)
        options = {"target": "self_attention", "args": args}
        if label == "masked":
            args.append(some_mask(rng, L))
        if label == "steep":
            args[:] = steep(rng, args)
        if label == "main":
            options["upstream"] = [rng.standard_normal((L, dv)), rng.standard_normal((L, L))]
            options["directions"] = [rng.standard_normal(a.shape) for a in args]
        questions.append(Ask(label, "call", options))
    args = draw(rng, 5, 4, 3, 2)
    nothing = np.ones((5, 5), bool)
    nothing[3] = False
    for label, mask in {
        "bad shape": np.ones((5, 6), bool),
        "bad type": np.ones((5, 5)),
        "bad row": nothing,
    }.items():
        questions.append(Ask(label, "call", {"target": "self_attention", "args": [*args, mask]}))
    return questions


def read(e: Evidence, label: str) -> list[np.ndarray]:
    L, _, _, dv = SIZES[label]
    return e.outputs(label, (L, dv), (L, L))


def weights_match(e: Evidence) -> None:
    for label in ("main", "long", "one"):
        same(
            e.expected(label)["right/1"],
            read(e, label)[1],
            e.tolerance(label),
            "The weights are not softmax(Q K^T / sqrt(d)), row by row.",
            "Compute one row by hand: q = X[0] @ W_Q, then the dot product of q with every key.",
            ("query", "key"),
        )


def output_matches(e: Evidence) -> None:
    for label in ("main", "long", "one"):
        output, weights = read(e, label)
        X, _, _, W_V = e.args(label)[:4]
        if not differ(e.expected(label)["right/0"], output, e.tolerance(label)):
            continue
        if not differ(weights @ (X @ W_V), output, e.tolerance(label)):
            # A wrong scale costs the points of the weights, not those of the output as well.
            if not differ(np.ones(len(X)), weights.sum(-1), 1e-4):
                continue
            raise Wrong(f"Waiting for: {WEIGHTS}.")  # it is the sum of these weights
        same(
            e.expected(label)["right/0"],
            output,
            e.tolerance(label),
            "The output is not the weighted sum of the values.",
            "Row t of the output is sum_s weights[t, s] V[s], with V = X @ W_V.",
            ("position", "component"),
        )


def mask_holds(e: Evidence) -> None:
    _, weights = read(e, "masked")
    mask = e.args("masked")[4]
    if weights[~mask].max() > 1e-9:
        raise Wrong(
            "Positions that the mask forbids still get weight.",
            "Fill the forbidden scores with minus infinity before the softmax.",
            e.expected("masked")["right/1"],
            weights,
            ("query", "key"),
        )
    sums = weights.sum(axis=-1)
    if differ(np.ones_like(sums), sums, e.tolerance("masked")):
        raise Wrong(
            "With a mask, the rows of weights no longer sum to one.",
            "Mask the scores before the softmax, not the weights after it.",
            np.ones_like(sums),
            sums,
            ("", "query"),
        )
    if not differ(e.expected("main")["right/1"], read(e, "main")[1], 1e-4):
        same(
            e.expected("masked")["right/1"],
            weights,
            e.tolerance("masked"),
            "The weights are wrong with a mask.",
            "Allowed scores stay as they are, and forbidden ones become minus infinity.",
            ("query", "key"),
        )
    far_enough(e)


def far_enough(e: Evidence) -> None:
    """However low the allowed scores are, forbidden keys get nothing."""
    _, weights = read(e, "steep")
    allowed = e.args("steep")[4]
    if differ(np.zeros(1), weights[~allowed], 1e-6):
        raise Wrong(
            "With large scores, positions that the mask forbids get weight: the number that you "
            "fill in is not low enough.",
            "Scores can be far below -100. Fill with minus infinity (-1e9 is low enough too).",
            e.expected("steep")["right/1"],
            weights,
            ("query", "key"),
        )


def bad_masks_refused(e: Evidence) -> None:
    refused(e, "bad shape", "A mask of the shape [5, 6] for 5 positions", (5, 6))
    refused(e, "bad type", "A mask of floating-point numbers")
    refused(e, "bad row", "A mask in which row 3 allows nothing", (3,))


def stays(e: Evidence) -> None:
    L, _, _, dv = SIZES["main"]
    stays_and_repeats(e, "main", [(L, dv), (L, L)], NAMES)
    stays_and_repeats(e, "masked", [(L, dv), (L, L)], (*NAMES, "mask"))
    slopes_match(e, "main", NAMES)


TELL = {
    "outputs-swapped": (
        "The two results are returned in the wrong order.",
        "Return the output first, then the weights.",
    ),
    "values-not-projected": (
        "The values are X itself: W_V is not used.",
        "V = X @ W_V, and the output is weights @ V.",
    ),
    "keys-as-values": (
        "The weights are multiplied with the keys, not with the values.",
        "Keys decide where to look, values are what is found there: weights @ V.",
    ),
    "no-scale": (
        "Your scores are not scaled: they should be divided by the square root of d.",
        "Divide Q K^T by sqrt(d) before the softmax.",
    ),
    "scaled-by-d": (
        "Your scores are divided by d, not by its square root.",
        "The scale is sqrt(d): d ** 0.5.",
    ),
    "multiplied-by-sqrt-d": (
        "Your scores are multiplied by the square root of d, but they should be divided by it.",
        "A large d makes large dot products, and the scale makes them smaller again.",
    ),
    "scaled-by-model-size": (
        "The scale is the square root of D, the size of a row of X, but it should be that of d.",
        "d is the size of the vectors in the dot product: queries and keys.",
    ),
    "negative-scores": (
        "Your scores have the wrong sign: the best match gets the least weight.",
        "Similar vectors have a large dot product. Keep its sign.",
    ),
    "raw-scores": (
        "You return the scores; the softmax is missing.",
        "The weights of a query are positive and sum to one.",
    ),
    "softmax-over-queries": (
        "Your softmax runs over the queries, not over the keys.",
        "The weights of each query sum to one along the last axis of Q K^T: dim=-1.",
    ),
    "softmax-over-everything": (
        "Your softmax runs over all scores at once.",
        "The weights of each query sum to one by themselves: dim=-1.",
    ),
    "sigmoid": (
        "Your weights are sigmoids: each is between 0 and 1, but they do not sum to one.",
        "Positions compete for attention: that is what the softmax does.",
    ),
    "queries-and-keys-swapped": (
        "Queries and keys are swapped: this is K Q^T.",
        "Rows belong to queries: Q @ K.T.",
    ),
    "mask-ignored": (
        "The mask has no effect.",
        "Fill the forbidden scores with minus infinity before the softmax (masked_fill).",
    ),
    "mask-inverted": (
        "The mask is inverted: you block what it allows.",
        "True means that attention is allowed. Fill where the mask is False.",
    ),
    "mask-transposed": (
        "The rows and columns of the mask are swapped.",
        "Row t of the mask says what query t may look at.",
    ),
    "mask-after-softmax": (
        "The mask is applied after the softmax, so the rows no longer sum to one.",
        "Put minus infinity into the scores, then take the softmax.",
    ),
    "masked-with-minus-100": (
        "Forbidden scores are set to -100, so with large scores forbidden keys still get weight.",
        "Only minus infinity (or -1e9) is far enough below every score.",
    ),
    "mask-times-infinity": (
        "The mask is multiplied by infinity, but 0 times infinity is NaN.",
        "masked_fill or torch.where put minus infinity only where it is needed.",
    ),
    "masked-with-zero": (
        "Forbidden scores are set to 0, but exp(0) is 1, so they still get weight.",
        "Only minus infinity becomes a weight of 0.",
    ),
}

exercise = Check(
    id="self-attention",
    asks=asks,
    properties=(
        Property(WEIGHTS, 3, weights_match),
        Property(OUTPUT, 2, output_matches),
        Property(MASKED, 3, mask_holds),
        Property(
            "a mask that cannot work is refused, and names why",
            1,
            bad_masks_refused,
            needs=(WEIGHTS,),
        ),
        Property(
            "two calls agree, inputs stay as they were, gradients flow",
            1,
            stays,
            needs=(WEIGHTS, OUTPUT),
        ),
    ),
    misconceptions=(
        changes_its_input(),
        *(Misconception(name, *words) for name, words in TELL.items()),
        cut_off("main", NAMES),
    ),
    choices=(
        (
            "no-scale",
            "scaled-by-d",
            "multiplied-by-sqrt-d",
            "scaled-by-model-size",
        ),
        ("negative-scores",),
        (
            "raw-scores",
            "softmax-over-queries",
            "softmax-over-everything",
            "sigmoid",
        ),
        ("queries-and-keys-swapped",),
        (
            "mask-ignored",
            "mask-inverted",
            "mask-transposed",
            "mask-after-softmax",
            "masked-with-zero",
            "masked-with-minus-100",
            "mask-times-infinity",
        ),
        (
            "values-not-projected",
            "keys-as-values",
        ),
        ("outputs-swapped",),
    ),
    fits=fits_everywhere(),
)
