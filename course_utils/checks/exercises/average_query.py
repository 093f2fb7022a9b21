"""average_query: a query for which attention gives the mean of two values."""

import numpy as np

from course_utils.checks import queries
from course_utils.checks.judge import Check, Evidence, Misconception, Property, Wrong
from course_utils.checks.wire import Ask

FEW = "among 4 keys, the output is the mean of v_a and v_b"


def asks(rng: np.random.Generator) -> list[Ask]:
    found = []
    for label, (m, d) in queries.SIZES.items():
        a, b = (int(i) for i in rng.choice(m, 2, replace=False))
        options = {
            "target": "average_query",
            "args": [queries.orthonormal(rng, m, d), a, b],
            "values": rng.uniform(-1, 1, (m, queries.VALUE_SIZE)),
        }
        found.append(Ask(label, "call", options))
    return found


def chosen(e: Evidence, label: str) -> list[int]:
    return list(e.args(label)[1:])


def averages(*labels: str):
    def holds(e: Evidence) -> None:
        for label in labels:
            target = e.options(label)["values"][chosen(e, label)].mean(axis=0)
            queries.demand(e, label, target, chosen(e, label), "the mean of v_a and v_b")

    return holds


def keys_unchanged(e: Evidence) -> None:
    given = e.args("few")[0]
    if np.abs(e.array("few", "after0", given.shape) - given).max() > 1e-9:
        raise Wrong("Your function changes `keys`.", "Make a new vector from its rows.")


def _share(e: Evidence) -> tuple[float, float]:
    share = queries.weights(queries.query_of(e, "few"), e.args("few")[0])
    a, b = chosen(e, "few")
    return float(share[a]), float(share[b])


def one_of_two(e: Evidence) -> bool:
    """Among few keys chance alone may pick one of the two, so it must win among many, too."""
    return max(_share(e)) > 0.98 and all(_winner(e, x) in chosen(e, x) for x in queries.SIZES)


def _winner(e: Evidence, label: str) -> int:
    return int(queries.weights(queries.query_of(e, label), e.args(label)[0]).argmax())


def uneven(e: Evidence) -> bool:
    a, b = _share(e)
    return a + b > 0.9 and abs(a - b) > 0.02


exercise = Check(
    id="average-query",
    asks=asks,
    properties=(
        Property(FEW, 4, averages("few")),
        Property("the same among 16 and 200 keys", 5, averages("square", "many")),
        Property("the keys are unchanged", 1, keys_unchanged, needs=(FEW,)),
    ),
    misconceptions=(
        *queries.misconceptions(chosen),
        Misconception(
            "one-of-two",
            "Your query copies one of the two values, and the other gets no weight.",
            "The dot products with k_a and k_b must be the same.",
            one_of_two,
        ),
        Misconception(
            "uneven",
            "Both keys get weight, but not the same amount.",
            "The dot products with k_a and k_b must be the same. Does your query treat both keys alike?",
            uneven,
        ),
    ),
)
