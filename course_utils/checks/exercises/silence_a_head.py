"""without_head: W_O with the columns of one head at zero, so that the head adds nothing."""

import numpy as np

from course_utils.checks.judge import Check, Evidence, Misconception, Property, same
from course_utils.checks.layer_checks import (
    changes_its_input,
    fits_everywhere,
    returned,
    stays_and_repeats,
)
from course_utils.checks.wire import Ask

SIZES = {  # label: D, num_heads, head
    "main": (12, 3, 1),
    "first": (8, 4, 0),
    "last": (10, 2, 1),
    "alone": (4, 1, 0),
}
MATCH = "the head's columns of W_O are zero, and all others are unchanged"


def asks(rng: np.random.Generator) -> list[Ask]:
    return [
        Ask(
            label,
            "call",
            {"target": "without_head", "args": [rng.standard_normal((D, D)), num_heads, head]},
        )
        for label, (D, num_heads, head) in SIZES.items()
    ]


def matrix_matches(e: Evidence) -> None:
    for label, (D, _, _) in SIZES.items():
        same(
            e.expected(label)["right/0"],
            e.outputs(label, (D, D))[0],
            e.tolerance(label),
            "This is not W_O with the head's columns set to zero.",
            "The d numbers of head h meet the columns h*d to (h+1)*d, with d = D / num_heads.",
            ("row", "column"),
        )


def stays(e: Evidence) -> None:
    for label, (D, _, _) in SIZES.items():
        stays_and_repeats(e, label, [(D, D)], ["W_O"])


TELL = {
    "rows-not-columns": (
        "You set rows to zero, but rows belong to the outputs, not to the head.",
        "A linear layer computes x @ W_O.T, so its inputs meet the columns of W_O.",
    ),
    "interleaved": (
        "You set every num_heads-th column to zero, but the columns of a head are side by side.",
        "The heads are joined one after the other: the columns h*d to (h+1)*d.",
    ),
    "next-head": (
        "This silences the head after the one you were asked to silence.",
        "Heads are counted from 0: head 0 has the first d columns.",
    ),
    "num-heads-columns": (
        "You set num_heads columns to zero, but a head has d = D / num_heads of them.",
        "Work out d first.",
    ),
    "only-this-head": (
        "You did the opposite: this head is the only one left.",
        "The columns of this head become zero, the others stay.",
    ),
}


def all_zero(e: Evidence) -> bool:
    return all(not e.outputs(label, (D, D))[0].any() for label, (D, _, _) in SIZES.items())


exercise = Check(
    id="silence-a-head",
    asks=asks,
    properties=(
        Property(MATCH, 3, matrix_matches),
        Property("W_O itself is unchanged, and two calls agree", 1, stays, needs=(MATCH,)),
    ),
    misconceptions=(
        changes_its_input(),
        *(Misconception(name, *words) for name, words in TELL.items()),
        Misconception(
            "everything",
            "All of W_O is zero: that silences every head.",
            "Only the columns h*d to (h+1)*d become zero.",
            all_zero,
        ),
    ),
    choices=(
        ("interleaved", "next-head", "num-heads-columns"),
        ("rows-not-columns",),
        ("only-this-head",),
    ),
    fits=fits_everywhere(returned),
)
