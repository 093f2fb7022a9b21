"""positions: a table of one-hot rows."""

import numpy as np

from course_utils.checks.judge import Check, Evidence, Misconception, Property, Wrong, same
from course_utils.checks.layer_checks import fits_everywhere
from course_utils.checks.wire import Ask

LENGTHS = {"hot main": 5, "hot long": 12, "hot one": 1}


def asks(rng: np.random.Generator) -> list[Ask]:
    lengths = LENGTHS | {"hot drawn": int(rng.integers(13, 40))}
    return [
        Ask(label, "call", {"target": "one_hot_positions", "args": [T]})
        for label, T in lengths.items()
    ]


def read_one_hot(e: Evidence, label: str) -> list[np.ndarray]:
    """The table of one-hot rows; whole numbers are fine, torch's own one_hot gives them."""
    T = e.args(label)[0]
    array = e.reply(label).arrays.get("out0")
    if array is not None and array.shape == (T, T) and array.dtype.kind in "iub":
        return [array.astype(float)]
    if array is not None and array.ndim == 2 and array.shape != (T, T):
        rows, columns = array.shape
        raise Wrong(
            f"For T = {T}, the table should have {T} rows and {T} columns, but it has {rows} and "
            f"{columns}.",
            "There is a row for each of the T positions, and the last one is position T - 1: which "
            "columns do you need?",
        )
    return e.outputs(label, (T, T))


def one_hot_matches(e: Evidence) -> None:
    for label in e.labels("hot"):
        (got,) = read_one_hot(e, label)
        expected = e.expected(label)["right/0"]
        if (got != 0).sum() != len(got):
            raise Wrong(
                f"Each row should contain a single 1 and zeros, but the table for T = {len(got)} does not.",
                "Row t is all zeros except for a 1 in column t.",
                expected,
                got,
                ("position t", "column"),
            )
        same(
            expected,
            got,
            e.tolerance(label),
            "The ones are in the wrong places.",
            "Row t has its 1 in column t, and t counts from 0.",
            ("position t", "column"),
        )


exercise = Check(
    id="positions",
    asks=asks,
    properties=(Property("row t has its 1 in column t", 1, one_hot_matches),),
    misconceptions=(
        Misconception(
            "one-hot-backwards",
            "Your one-hot rows run backwards: the first position has its 1 in the last column.",
            "Row t has its 1 in column t.",
        ),
        Misconception(
            "one-hot-shifted",
            "Your one-hot rows are shifted by one: they count from 1.",
            "Row 0 has its 1 in column 0.",
        ),
        Misconception(
            "thermometer",
            "Your rows have a 1 in every column up to t, not just in column t.",
            "Only one number in a row is hot.",
        ),
        Misconception(
            "index-for-one",
            "The hot number of row t is t, not 1.",
            "One-hot means a 1 at the place and 0 elsewhere.",
        ),
    ),
    choices=(("one-hot-backwards", "one-hot-shifted", "thermometer", "index-for-one"),),
    fits=fits_everywhere(),
)
