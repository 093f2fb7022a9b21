"""The bank of wrong attention weights: a scale, a sign and a rule, each right or mistaken.

The raw scores q . k have the source along the last axis; d is the size of the keys. Exercises pick
the mistakes that can be made in them.
"""

from collections.abc import Iterable

import numpy as np

from course_utils.checks.judge import Misconception, Mistakes


def _softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def _without(index):
    """The softmax over all positions but one; with a single position there is no difference."""

    def weights(scores):
        if scores.shape[-1] == 1:
            return np.full(scores.shape, np.nan)
        kept = np.delete(scores, index, axis=-1)
        return np.insert(_softmax(kept), index if index >= 0 else scores.shape[-1] - 1, 0.0, -1)

    return weights


SCALES = {
    "scaled-by-sqrt-d": lambda d: np.sqrt(d),
    "no-scale": lambda d: 1.0,
    "scaled-by-d": lambda d: d,
    "multiplied-by-sqrt-d": lambda d: 1 / np.sqrt(d),
}
RULES = {
    "softmax-over-queries": lambda z: _softmax(z, axis=-2),
    "softmax-over-batch": lambda z: _softmax(z, axis=0),
    "softmax-over-everything": lambda z: _softmax(z.reshape(len(z), -1)).reshape(z.shape),
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "argmax": lambda z: np.eye(z.shape[-1])[z.argmax(axis=-1)],
    "raw-scores": lambda z: z,
    "log-probabilities": lambda z: np.log(_softmax(z)),
    "exp-without-sum": np.exp,
    "sum-without-exp": lambda z: z / z.sum(axis=-1, keepdims=True),
    "softmax-twice": lambda z: _softmax(_softmax(z)),
    "mean-pooling": lambda z: np.full(z.shape, 1 / z.shape[-1]),
    "zero-weights": lambda z: np.zeros(z.shape),
    "ignores-last-position": _without(-1),
    "ignores-first-position": _without(0),
}


def weights(scores: np.ndarray, divisor: float, mistakes: Mistakes) -> np.ndarray:
    """The weights of an answer that divides by `divisor` and has these mistakes."""
    sign = -1 if "negative-scores" in mistakes else 1
    rule = next((RULES[name] for name in RULES if name in mistakes), _softmax)
    with np.errstate(all="ignore"):
        return rule(sign * scores / divisor)


TELL = {
    "scaled-by-sqrt-d": (
        "Your scores are divided by the square root of d, but this exercise has no scale.",
        "Dot-product attention uses the dot products as they are.",
    ),
    "no-scale": (
        "Your scores are not scaled: they should be divided by the square root of d.",
        "Divide the dot products by sqrt(d) before the softmax.",
    ),
    "scaled-by-d": (
        "Your scores are divided by d, not by its square root.",
        "The scale is sqrt(d): d ** 0.5.",
    ),
    "multiplied-by-sqrt-d": (
        "Your scores are multiplied by the square root of d, but they should be divided by it.",
        "A large d makes large dot products, and the scale makes them smaller again.",
    ),
    "softmax-over-queries": (
        "Your softmax runs over the queries, not over the source positions.",
        "The weights of each query sum to one: use the last axis, dim=-1.",
    ),
    "softmax-over-batch": (
        "Your softmax runs over the batch, so the weights of different sentences sum to one.",
        "The sentences of a batch are independent. Use the source axis.",
    ),
    "softmax-over-everything": (
        "Your softmax runs over all scores of a sentence at once.",
        "The weights of each query sum to one by themselves: dim=-1.",
    ),
    "sigmoid": (
        "Your weights are sigmoids: each is between 0 and 1, but they do not sum to one.",
        "Positions compete for attention: that is what the softmax does.",
    ),
    "argmax": (
        "Your weights pick only the largest score (argmax), but they should be a softmax.",
        "A hard choice has no gradient, so nothing could be learned.",
    ),
    "raw-scores": (
        "You return the scores themselves; the softmax is missing.",
        "The weights of a query are softmax(scores): positive, and they sum to one.",
    ),
    "log-probabilities": (
        "You return logarithms of the weights (log_softmax).",
        "Use softmax, not log_softmax.",
    ),
    "exp-without-sum": (
        "You take exp of the scores but do not divide by the sum.",
        "The softmax divides by the sum over the source positions.",
    ),
    "sum-without-exp": (
        "You divide the scores by their sum without taking exp first.",
        "exp makes every score positive. Only then can they be shares of one.",
    ),
    "softmax-twice": (
        "The softmax is taken twice, which flattens the weights.",
        "Apply it only once: the softmax of a softmax is nearly uniform.",
    ),
    "negative-scores": (
        "Your scores have the wrong sign: the best match gets the least weight.",
        "Similar vectors have a large dot product. Keep its sign.",
    ),
    "mean-pooling": (
        "Every source position gets the same weight: this is mean pooling.",
        "The weights should depend on how well the query matches each key.",
    ),
    "zero-weights": (
        "Your weights are all zero.",
        "Return the softmax of the scores.",
    ),
    "ignores-last-position": (
        "The last source position never gets any weight.",
        "Is there an off-by-one in a slice or a range?",
    ),
    "ignores-first-position": (
        "The first source position never gets any weight.",
        "Is there an off-by-one in a slice or a range?",
    ),
}


def misconceptions_of_weights(names: Iterable[str]) -> tuple[Misconception, ...]:
    return tuple(Misconception(name, *TELL[name]) for name in names)
