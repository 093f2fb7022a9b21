"""One query on the rows of X: typed scores, probabilities and output."""

from course_utils.by_hand import practice
from course_utils.checks.typed import NearMiss, typed_exercise

exercise = typed_exercise(
    "single-query-numbers",
    "single-query",
    {"scores": 1, "probabilities": 2, "output": 1},
    [
        NearMiss(
            "no-scale",
            "Your scores are not scaled: they are the dot products themselves.",
            "Divide each dot product by the square root of d, the size of the query.",
        ),
        NearMiss(
            "scaled-by-d",
            "Your scores are divided by d, not by its square root.",
            "The scale is the square root of d.",
        ),
        NearMiss(
            "scale-of-length",
            "You divided by the square root of the number of rows of X.",
            "d is the size of one vector: the number of entries of the query.",
        ),
        NearMiss(
            "scale-of-the-example",
            "You divided by the square root of 2, as in the worked example. There d was 2.",
            "d is the number of entries of this query.",
        ),
        NearMiss(
            "multiplied-by-sqrt-d",
            "You multiplied by the square root of d where you should divide.",
            "Scaling makes the scores smaller.",
        ),
        NearMiss(
            "wrong-sign",
            "All your scores have the wrong sign.",
            "Check the signs in your dot products.",
        ),
        NearMiss(
            "softmax-of-raw",
            "Your probabilities come from the dot products before the scale.",
            "Take the softmax of `scores`, after the division.",
        ),
        NearMiss(
            "no-sum",
            "You took exp of the scores, but did not divide by their sum.",
            "Probabilities sum to one: divide each exp by the sum of all four.",
        ),
        NearMiss(
            "no-exp",
            "Your probabilities are the scores divided by their sum, without exp.",
            "The softmax is exp(z), divided by the sum of exp(z) over all scores.",
        ),
        NearMiss(
            "argmax",
            "You gave all the weight to the largest score: that is argmax.",
            "The softmax gives every row some weight.",
        ),
        NearMiss(
            "mean",
            "Your output is the plain mean of the rows of X.",
            "Weight each row by its probability.",
        ),
        NearMiss(
            "scores-as-weights",
            "Your output weights the rows by their scores, not by their probabilities.",
            "Use the probabilities as weights.",
        ),
    ],
    shares=["probabilities"],
    follows={
        "probabilities": (("scores",), practice.shares_of),
        "output": (("probabilities", "X"), lambda weights, X: weights @ X),
    },
)
