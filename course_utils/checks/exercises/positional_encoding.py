"""positional_encoding: sines in even columns, cosines in odd ones, ever slower to the right."""

import numpy as np

from course_utils.checks.judge import Check, Evidence, Misconception, Property, same
from course_utils.checks.layer_checks import fits_everywhere, refused
from course_utils.checks.wire import Ask

SIZES = {"main": (6, 8), "long": (40, 6), "one": (1, 4), "pair": (9, 2)}
EVEN, ODD = "even columns are sines", "odd columns are cosines"


def asks(rng: np.random.Generator) -> list[Ask]:
    sizes = SIZES | {"drawn": (int(rng.integers(10, 30)), 2 * int(rng.integers(5, 12)))}
    questions = [
        Ask(label, "call", {"target": "positional_encoding", "args": list(size)})
        for label, size in sizes.items()
    ]
    # Far out, a base that is off by one shows.
    questions.append(Ask("far", "call", {"target": "positional_encoding", "args": [150, 16]}))
    return [*questions, Ask("bad odd", "call", {"target": "positional_encoding", "args": [4, 7]})]


def read(e: Evidence, label: str) -> list[np.ndarray]:
    return e.outputs(label, tuple(e.args(label)))


def columns_match(start: int, what: str):
    def holds(e: Evidence) -> None:
        for label in (x for x in e.labels() if not x.startswith("bad")):
            same(
                e.expected(label)["right/0"][:, start::2],
                read(e, label)[0][:, start::2],
                1e-4,  # float32 angles of long tables are that exact
                f"The {what} are wrong.",
                "Columns 2i and 2i + 1 share the angle t / 10000^(2i/d_model); i and t count from 0.",
                ("position t", "pair i"),
            )

    return holds


def odd_size_refused(e: Evidence) -> None:
    refused(e, "bad odd", "d_model = 7, which leaves a sine without its cosine,", (7,))


exercise = Check(
    id="positional-encoding",
    asks=asks,
    properties=(
        Property(EVEN, 0.9, columns_match(0, "even columns (sines)")),
        Property(ODD, 0.9, columns_match(1, "odd columns (cosines)")),
        Property("an odd d_model is refused", 0.2, odd_size_refused, needs=(EVEN,)),
    ),
    misconceptions=(
        Misconception(
            "starts-at-one",
            "Your positions are counted from 1.",
            "The first position is t = 0: sines 0, cosines 1.",
        ),
        Misconception(
            "pairs-count-from-one",
            "Your pairs of columns are counted from 1, so the fastest wave is missing.",
            "i starts at 0, and the first wavelength is 2 pi.",
        ),
        Misconception(
            "exponent-doubled",
            "The exponent is twice as large as it should be.",
            "If your loop variable is already the column 2i, the exponent is column / d_model.",
        ),
        Misconception(
            "exponent-halved",
            "The exponent is i/d_model, but it should be 2i/d_model: the waves slow down too little.",
            "The larger d_model, the closer the longest wavelength is to 10000 times 2 pi.",
        ),
        Misconception(
            "each-column-its-own-rate",
            "A sine and its cosine have different angles: every column has its own rate.",
            "Columns 2i and 2i + 1 share the angle t / 10000^(2i/d_model).",
        ),
        Misconception(
            "multiplied-by-wavelength",
            "The position is multiplied by 10000^(2i/d_model), but it should be divided by it.",
            "Waves further to the right are slower: their angles grow less with t.",
        ),
        Misconception(
            "sine-and-cosine-swapped",
            "Sines and cosines are swapped.",
            "Column 0 is a sine, which starts at 0.",
        ),
        Misconception(
            "all-sines", "All columns are sines.", "The odd columns are cosines of the same angles."
        ),
        Misconception(
            "two-halves",
            "All sines come first and all cosines after them, but here they should alternate.",
            "table[:, 0::2] are the even columns, table[:, 1::2] the odd ones.",
        ),
        Misconception("base-1000", "The base is 1000.", "It should be 10000, ten thousand."),
        Misconception(
            "turns-for-radians",
            "Your angles are multiplied by 2 pi.",
            "The angle is t / 10000^(2i/d_model), without a factor.",
        ),
    ),
    choices=(
        ("starts-at-one",),
        ("pairs-count-from-one",),
        ("each-column-its-own-rate",),
        (
            "exponent-halved",
            "exponent-doubled",
            "multiplied-by-wavelength",
        ),
        (
            "sine-and-cosine-swapped",
            "all-sines",
        ),
        ("two-halves",),
        ("base-1000",),
        ("turns-for-radians",),
    ),
    fits=fits_everywhere(),
)
