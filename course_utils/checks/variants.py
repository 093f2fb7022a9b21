"""The bank of wrong attention weights: one small function a misconception.

Each takes the raw scores q . k, with the source along the last axis, and the size d of the
keys, and gives the weights that a student with that misconception computes. Exercises pick the
ones that are wrong for them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from course_utils.checks.judge import Evidence, Misconception, differ


def _softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


@dataclass(frozen=True)
class Variant:
    name: str
    sentence: str
    hint: str
    weights: Callable[[np.ndarray, int], np.ndarray]


def _hard(scores, d):
    best = scores.argmax(axis=-1)
    return np.eye(scores.shape[-1])[best]


def _without(index):
    def weights(scores, d):
        kept = np.delete(scores, index, axis=-1)
        return np.insert(_softmax(kept), index if index >= 0 else scores.shape[-1] - 1, 0.0, -1)

    return weights


VARIANTS = {
    v.name: v
    for v in [
        Variant(
            "scaled-by-sqrt-d",
            "Your scores are divided by the square root of d; this exercise has no scale.",
            "Dot-product attention uses the dot products as they are.",
            lambda z, d: _softmax(z / np.sqrt(d)),
        ),
        Variant(
            "no-scale",
            "Your scores are not scaled: they should be divided by the square root of d.",
            "Divide the dot products by sqrt(d) before the softmax.",
            lambda z, d: _softmax(z),
        ),
        Variant(
            "scaled-by-d",
            "Your scores are divided by d, not by its square root.",
            "The scale is sqrt(d): d ** 0.5.",
            lambda z, d: _softmax(z / d),
        ),
        Variant(
            "multiplied-by-sqrt-d",
            "Your scores are multiplied by the square root of d where they should be divided by it.",
            "Large d makes large dot products; the scale makes them smaller again.",
            lambda z, d: _softmax(z * np.sqrt(d)),
        ),
        Variant(
            "softmax-over-queries",
            "Your softmax runs over the queries, not over the source positions.",
            "Each query's weights sum to one: use the last axis, dim=-1.",
            lambda z, d: _softmax(z, axis=-2),
        ),
        Variant(
            "softmax-over-batch",
            "Your softmax runs over the batch: the weights of different sentences sum to one.",
            "Sentences of a batch never meet. Use the source axis, dim=-1.",
            lambda z, d: _softmax(z, axis=0),
        ),
        Variant(
            "softmax-over-everything",
            "Your softmax runs over all scores of a sentence at once.",
            "Each query's weights sum to one by themselves: dim=-1.",
            lambda z, d: _softmax(z.reshape(z.shape[0], -1)).reshape(z.shape),
        ),
        Variant(
            "sigmoid",
            "Your weights are sigmoids of the scores: each lies in 0 to 1, but they do not sum to one.",
            "Positions compete for attention: that is what the softmax does.",
            lambda z, d: 1 / (1 + np.exp(-z)),
        ),
        Variant(
            "argmax",
            "Your weights pick the largest score alone (argmax) instead of sharing by softmax.",
            "A hard choice has no gradient. Use the softmax.",
            _hard,
        ),
        Variant(
            "raw-scores",
            "You return the scores themselves; the softmax is missing.",
            "Weights are softmax(scores): positive, and one in sum.",
            lambda z, d: z,
        ),
        Variant(
            "raw-scaled-scores",
            "You return the scaled scores themselves; the softmax is missing.",
            "Weights are softmax(scores / sqrt(d)): positive, and one in sum.",
            lambda z, d: z / np.sqrt(d),
        ),
        Variant(
            "log-probabilities",
            "You return logarithms of the weights (log_softmax).",
            "Use softmax, not log_softmax.",
            lambda z, d: np.log(_softmax(z)),
        ),
        Variant(
            "scaled-log-probabilities",
            "You return logarithms of the weights (log_softmax).",
            "Use softmax, not log_softmax.",
            lambda z, d: np.log(_softmax(z / np.sqrt(d))),
        ),
        Variant(
            "exp-without-sum",
            "You take exp of the scores but do not divide by the sum.",
            "The softmax divides by the sum over the source positions.",
            lambda z, d: np.exp(z),
        ),
        Variant(
            "sum-without-exp",
            "You divide the scores by their sum without taking exp first.",
            "exp makes every score positive; only then can they be shares.",
            lambda z, d: z / z.sum(axis=-1, keepdims=True),
        ),
        Variant(
            "softmax-twice",
            "The softmax is taken twice, which flattens the weights.",
            "Apply it once; softmax of a softmax is nearly uniform.",
            lambda z, d: _softmax(_softmax(z)),
        ),
        Variant(
            "negative-scores",
            "Your scores have the wrong sign: the best match gets the least weight.",
            "Nearby vectors have a large dot product. Keep its sign.",
            lambda z, d: _softmax(-z),
        ),
        Variant(
            "mean-pooling",
            "Every source position gets the same weight: this is mean pooling.",
            "The weights should depend on how well the query matches each key.",
            lambda z, d: np.full(z.shape, 1 / z.shape[-1]),
        ),
        Variant(
            "zero-weights",
            "Your weights are all zero.",
            "Return the softmax of the scores.",
            lambda z, d: np.zeros(z.shape),
        ),
        Variant(
            "ignores-last-position",
            "The last source position never gets any weight.",
            "Is there an off-by-one in a slice or a range?",
            _without(-1),
        ),
        Variant(
            "ignores-first-position",
            "The first source position never gets any weight.",
            "Is there an off-by-one in a slice or a range?",
            _without(0),
        ),
    ]
}


def misconceptions_of_weights(
    names: list[str],
    scores: Callable[[Evidence], tuple[np.ndarray, int]],
    weights: Callable[[Evidence], np.ndarray],
) -> tuple[Misconception, ...]:
    """The named variants as misconceptions of an exercise.

    `scores` gives the raw scores and d for a piece of evidence, `weights` what the student
    returned for the same question.
    """

    def matcher(variant: Variant):
        def matches(evidence: Evidence) -> bool:
            z, d = scores(evidence)
            expected, got = variant.weights(z, d), weights(evidence)
            return expected.shape == got.shape and not differ(expected, got, 1e-4)

        return matches

    return tuple(
        Misconception(v.name, v.sentence, v.hint, matcher(v))
        for v in (VARIANTS[name] for name in names)
    )
