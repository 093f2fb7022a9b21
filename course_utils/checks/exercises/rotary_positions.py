"""rotate: each pair of numbers is rotated by an angle that grows with its position."""

from typing import Any

import numpy as np

from course_utils.checks.judge import Check, Evidence, Misconception, Property, Wrong, differ, same
from course_utils.checks.layer_checks import (
    changes_its_input,
    cut_off,
    fits_everywhere,
    output_matches,
    refused,
    slopes_match,
    stays_and_repeats,
)
from course_utils.checks.wire import Ask

SIZES: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {  # label: shape of x, named arguments
    # No axis is as long as half of d: T for d/2 would run, and num_heads would be blamed for it.
    "main": ((2, 4, 5, 6), {}),
    "goes on": ((2, 3, 5, 8), {"first": 7}),
    "other base": ((1, 3, 6, 4), {"base": 40.0}),
    "one pair": ((1, 1, 3, 2), {}),
    "one position": ((1, 1, 1, 4), {"first": 3}),
    "one vector": ((1, 1, 9, 6), {"base": 30.0}),
}
EQUAL = "every pair is rotated by the angle of its position"


def asks(rng: np.random.Generator) -> list[Ask]:
    questions = []
    for label, (shape, named) in SIZES.items():
        x = rng.standard_normal(shape)
        if label == "one vector":
            x = np.repeat(x[:, :, :1], shape[2], axis=2)
        options = {"target": "rotate", "args": [x], "kwargs": named}
        if label == "main":
            options["upstream"] = [rng.standard_normal(shape)]
            options["directions"] = [rng.standard_normal(shape)]
        questions.append(Ask(label, "call", options))
    odd = rng.standard_normal((2, 1, 4, 5))
    return [*questions, Ask("bad odd", "call", {"target": "rotate", "args": [odd]})]


def read(e: Evidence, label: str) -> list[np.ndarray]:
    return e.outputs(label, SIZES[label][0])


def only_the_distance(e: Evidence) -> None:
    turned = read(e, "one vector")[0][0, 0]
    scores = turned @ turned.T
    for distance in range(1, len(scores)):
        along = np.diagonal(scores, distance)
        same(
            np.full(along.shape, along[0]),
            along,
            e.tolerance("one vector"),
            f"The same query and key, {distance} apart, get different scores at different positions.",
            "Rotate every pair as a whole: both of its numbers, by the same angle.",
        )
    if not differ(scores[0], np.full(len(scores), scores[0, 0]), 1e-3):
        raise Wrong(
            "The scores do not depend on the distance at all.",
            "The angle should grow with the position.",
        )


def goes_on(e: Evidence) -> None:
    for label in ("goes on", "one position"):
        same(
            e.expected(label)["right/0"],
            read(e, label)[0],
            e.tolerance(label),
            f"With first={SIZES[label][1]['first']} the result is wrong.",
            "The vector x[:, :, t] is at position first + t.",
            ("position", "component"),
        )


def stays(e: Evidence) -> None:
    stays_and_repeats(e, "main", [SIZES["main"][0]], ["x"])
    slopes_match(e, "main", ["x"])


TELL = {
    "halves": (
        "You pair the first half of the vector with the second half. Here, neighbours form pairs.",
        "x[..., 0::2] is the first number of each pair, x[..., 1::2] the second.",
    ),
    "not-put-back": (
        "The pairs are rotated, but put back in a different order: all first numbers, then all second.",
        "Neighbours should be side by side again: stack along a new last axis, then flatten it.",
    ),
    "turned-backwards": (
        "The pairs rotate the wrong way: the signs of the sine are swapped.",
        "The first number is x cos - y sin, the second x sin + y cos.",
    ),
    "sine-and-cosine-exchanged": (
        "Sine and cosine are swapped.",
        "At position 0 nothing is rotated, so each number itself is multiplied by cos(0) = 1.",
    ),
    "only-cosine": (
        "Each number is only multiplied by the cosine; its partner is missing.",
        "The first number is x cos - y sin, the second x sin + y cos.",
    ),
    "exponent-not-doubled": (
        "The exponent is i / d; it should be 2 i / d.",
        "The speeds are base ** (-2 i / d) for i = 0, ..., d / 2 - 1.",
    ),
    "one-speed": (
        "All pairs rotate at the same speed.",
        "Pair i rotates by base ** (-2 i / d) per position.",
    ),
    "speeds-growing": (
        "The speeds grow from pair to pair: the minus sign of the exponent is missing.",
        "The speeds are base ** (-2 i / d).",
    ),
    "base-ignored": ("`base` has no effect.", "Use base, not 10000, in the speeds."),
    "first-ignored": (
        "`first` has no effect: the positions always start at 0.",
        "The positions are first, ..., first + T - 1.",
    ),
    "positions-from-one": (
        "The positions start one too high: the vector at `first` is rotated as if it were the next.",
        "The positions are first, ..., first + T - 1.",
    ),
}

exercise = Check(
    id="rotary-positions",
    asks=asks,
    properties=(
        Property(
            EQUAL,
            1.25,
            output_matches(
                read,
                ("main", "one pair"),
                "The result is not x with every pair rotated.",
                "Take one vector with two numbers at position 1, and rotate it by hand.",
            ),
        ),
        Property("scores depend on the distance alone", 0.5, only_the_distance),
        Property("positions continue from `first`", 0.5, goes_on),
        Property(
            "`base` sets the speeds",
            0.25,
            output_matches(
                read,
                ("other base",),
                "With base=40 the result is wrong.",
                "The speeds are base ** (-2 i / d).",
            ),
        ),
        Property(
            "an odd number of columns is refused",
            0.25,
            lambda e: refused(e, "bad odd", "A vector of 5 numbers", (5,)),
            needs=(EQUAL,),
        ),
        Property("gradients flow, the input is unchanged", 0.25, stays, needs=(EQUAL,)),
    ),
    misconceptions=(
        changes_its_input(),
        *(Misconception(name, *words) for name, words in TELL.items()),
        cut_off("main", ["x"]),
    ),
    choices=(
        ("halves", "not-put-back"),
        ("turned-backwards", "sine-and-cosine-exchanged", "only-cosine"),
        ("exponent-not-doubled", "one-speed", "speeds-growing", "base-ignored"),
        ("first-ignored", "positions-from-one"),
    ),
    fits=fits_everywhere(),
)
