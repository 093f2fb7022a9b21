"""weighted_average: the sum of the values, each times its weight, over the sum of the weights."""

import numpy as np

from course_utils.checks.judge import Check, Evidence, Misconception, Property, differ, same
from course_utils.checks.wire import Ask

SIZES = {"main": (4, 3), "long": (9, 2), "one": (1, 5)}


def asks(rng: np.random.Generator) -> list[Ask]:
    return [
        Ask(
            label,
            "call",
            {
                "target": "weighted_average",
                "args": [rng.uniform(0.1, 2, S), rng.standard_normal((S, D))],
            },
        )
        for label, (S, D) in SIZES.items()
    ]


def average_matches(e: Evidence) -> None:
    for label, (_, D) in SIZES.items():
        (got,) = e.outputs(label, (D,))
        same(
            e.expected(label)["average"],
            got,
            e.tolerance(label),
            "The average is wrong.",
            "Multiply each value by its weight, add the results, and divide by the sum of the weights.",
            ("", "component"),
        )


def matches(variant: str):
    def compare(e: Evidence) -> bool:
        (got,) = e.outputs("main", (SIZES["main"][1],))
        return not differ(e.expected("main")[variant], got, 1e-4)

    return compare


exercise = Check(
    id="weighted-average",
    asks=asks,
    properties=(Property("the result is the weighted average", 1, average_matches),),
    misconceptions=(
        Misconception(
            "not-divided",
            "You added up the weighted values, but did not divide by the sum of the weights.",
            "Weights of 2 and 2 should give the same average as weights of 0.5 and 0.5.",
            matches("not-divided"),
        ),
        Misconception(
            "divided-by-count",
            "You divided by the number of values. Divide by the sum of the weights instead.",
            "If all weights double, the average should stay the same.",
            matches("divided-by-count"),
        ),
        Misconception(
            "plain-mean",
            "This is the plain mean: the weights have no effect.",
            "Multiply each value by its weight first.",
            matches("plain-mean"),
        ),
    ),
)
