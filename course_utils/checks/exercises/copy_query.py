"""copy_query: a query for which attention gives back one value."""

import numpy as np

from course_utils.checks import queries
from course_utils.checks.judge import Check, Evidence, Property, Wrong
from course_utils.checks.wire import Ask


def asks(rng: np.random.Generator) -> list[Ask]:
    found = []
    for label, (m, d) in queries.SIZES.items():
        options = {
            "target": "copy_query",
            "args": [queries.orthonormal(rng, m, d), int(rng.integers(1, m - 1))],
            "values": rng.uniform(-1, 1, (m, queries.VALUE_SIZE)),
        }
        found.append(Ask(label, "call", options))
    return found


def chosen(e: Evidence, label: str) -> list[int]:
    return [e.args(label)[1]]


def copies(*labels: str):
    def holds(e: Evidence) -> None:
        for label in labels:
            j = e.args(label)[1]
            queries.demand(e, label, e.options(label)["values"][j], [j], "the value of key j")

    return holds


def keys_unchanged(e: Evidence) -> None:
    given = e.args("few")[0]
    if np.abs(e.array("few", "after0", given.shape) - given).max() > 1e-9:
        raise Wrong(
            "Your function changes `keys`.",
            "Make a new vector instead of changing a row of `keys`.",
        )


exercise = Check(
    id="copy-query",
    asks=asks,
    properties=(
        Property("among 4 keys, the output is v_j", 4, copies("few")),
        Property("the same among 16 and 200 keys", 5, copies("square", "many")),
        Property(
            "the keys are unchanged", 1, keys_unchanged, needs=("among 4 keys, the output is v_j",)
        ),
    ),
    misconceptions=queries.misconceptions(chosen),
)
