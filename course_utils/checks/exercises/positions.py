"""positions: one-hot rows, and sines and cosines of t / 10000^(2i/d), as two functions."""

import numpy as np

from course_utils.checks.exercises import positional_encoding
from course_utils.checks.judge import Check, Evidence, Misconception, Property, Wrong, same
from course_utils.checks.layer_checks import fits_everywhere
from course_utils.checks.wire import Ask

ONE_HOT = {"hot main": 5, "hot long": 12, "hot one": 1}
SINES = {"sine main": (7, 6), "sine long": (40, 10), "sine one": (1, 4), "sine pair": (9, 2)}
EVEN = "sine_positions: even columns are sines"


def asks(rng: np.random.Generator) -> list[Ask]:
    drawn = {"sine drawn": (int(rng.integers(10, 30)), 2 * int(rng.integers(6, 12)))}
    lengths = ONE_HOT | {"hot drawn": int(rng.integers(13, 40))}
    return [
        *(
            Ask(label, "call", {"target": "one_hot_positions", "args": [T]})
            for label, T in lengths.items()
        ),
        *(
            Ask(label, "call", {"target": "sine_positions", "args": [T, d]})
            for label, (T, d) in (SINES | drawn).items()
        ),
    ]


def read_one_hot(e: Evidence, label: str) -> list[np.ndarray]:
    """The table of one-hot rows; whole numbers are fine, torch's own one_hot gives them."""
    T = e.args(label)[0]
    array = e.reply(label).arrays.get("out0")
    if array is not None and array.shape == (T, T) and array.dtype.kind in "iub":
        return [array.astype(float)]
    return e.outputs(label, (T, T))


def read_sines(e: Evidence, label: str) -> list[np.ndarray]:
    return e.outputs(label, tuple(e.args(label)))


def one_hot_matches(e: Evidence) -> None:
    for label in e.labels("hot"):
        (got,) = read_one_hot(e, label)
        expected = e.expected(label)["right/0"]
        if (got != 0).sum() != len(got):
            raise Wrong(
                f"A row should hold a single 1 and zeros; the table for T = {len(got)} does not.",
                "Row t is all zeros but for a 1 in column t.",
                expected,
                got,
                ("position t", "column"),
            )
        same(
            expected,
            got,
            e.tolerance(label),
            "The ones do not stand where they should.",
            "Row t has its 1 in column t, and t counts from 0.",
            ("position t", "column"),
        )


def columns_match(start: int, what: str):
    def holds(e: Evidence) -> None:
        for label in e.labels("sine"):
            same(
                e.expected(label)["right/0"][:, start::2],
                read_sines(e, label)[0][:, start::2],
                1e-4,  # float32 angles of long tables are that exact
                f"The {what} are wrong.",
                "Columns 2i and 2i + 1 share the angle t / 10000^(2i/d); i and t count from 0.",
                ("position t", "pair i"),
            )

    return holds


exercise = Check(
    id="positions",
    asks=asks,
    properties=(
        Property("one_hot_positions: row t has its 1 in column t", 1, one_hot_matches),
        Property(EVEN, 1, columns_match(0, "even columns (sines)")),
        Property(
            "sine_positions: odd columns are cosines", 1, columns_match(1, "odd columns (cosines)")
        ),
    ),
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
            "Your rows hold a 1 in every column up to t, not in column t alone.",
            "Only one number of a row is hot.",
        ),
        Misconception(
            "index-for-one",
            "The hot number of row t is t, not 1.",
            "One-hot means 1 at the place and 0 elsewhere.",
        ),
        # The same table with the same mistakes as in notebook 05.
        *positional_encoding.exercise.misconceptions,
    ),
    choices=(
        (
            "one-hot-backwards",
            "one-hot-shifted",
            "thermometer",
            "index-for-one",
        ),
        *positional_encoding.exercise.choices,
    ),
    fits=fits_everywhere(),
)
