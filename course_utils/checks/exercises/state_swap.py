"""swap_states: text b gets the states of text b - 1, and keeps its own bottleneck."""

import numpy as np

from course_utils.checks.judge import Check, Evidence, Misconception, Property, same
from course_utils.checks.layer_checks import changes_its_input, fits_everywhere, stays_and_repeats
from course_utils.checks.wire import Ask

SIZES = {"main": (4, 5, 3), "two texts": (2, 3, 4), "one text": (1, 4, 3)}  # B, S, D
NAMES = ("states", "bottleneck")
STATES = "text b gets the states of text b - 1, and the first text those of the last"


def asks(rng: np.random.Generator) -> list[Ask]:
    return [
        Ask(
            label,
            "call",
            {
                "target": "swap_states",
                "args": [rng.standard_normal((B, S, D)), rng.standard_normal((1, B, D))],
            },
        )
        for label, (B, S, D) in SIZES.items()
    ]


def read(e: Evidence, label: str) -> list[np.ndarray]:
    B, S, D = SIZES[label]
    return e.outputs(label, (B, S, D), (1, B, D))


def states_match(e: Evidence) -> None:
    for label in SIZES:
        same(
            e.expected(label)["right/0"],
            read(e, label)[0],
            e.tolerance(label),
            "The states are not those of the previous text.",
            "The batch is the first axis of the states. Which text's states should text 0 get?",
            ("source position s", "component"),
        )


def bottleneck_stays(e: Evidence) -> None:
    for label in SIZES:
        same(
            e.expected(label)["right/1"],
            read(e, label)[1],
            e.tolerance(label),
            "The bottleneck should stay with its own text.",
            "Change only one thing, or you cannot tell which of the two the decoder has read.",
            ("text b", "component"),
        )


def untouched(e: Evidence) -> None:
    for label, (B, S, D) in SIZES.items():
        stays_and_repeats(e, label, [(B, S, D), (1, B, D)], NAMES)


exercise = Check(
    id="state-swap",
    asks=asks,
    properties=(
        Property(STATES, 2, states_match),
        Property("every text keeps its own bottleneck", 1, bottleneck_stays, needs=(STATES,)),
        Property("two calls agree, and the inputs are unchanged", 1, untouched, needs=(STATES,)),
    ),
    misconceptions=(
        changes_its_input(),
        Misconception(
            "steps-rolled",
            "You moved the states along the source, so every text still has its own.",
            "The texts are the first axis, the source positions the second.",
        ),
        Misconception(
            "other-way",
            "Text b gets the states of text b + 1, not b - 1.",
            "Text 1 should get the states of text 0.",
        ),
        Misconception(
            "reversed",
            "You reversed the order of the texts, so a text in the middle may keep its own states.",
            "Shift the texts by one instead.",
        ),
        Misconception(
            "nothing-swapped",
            "Every text still has its own states.",
            "Text 1 should get the states of text 0.",
        ),
        Misconception(
            "bottleneck-too",
            "You swapped the bottleneck as well.",
            "Change only one thing, or you cannot tell which of the two the decoder has read.",
        ),
        Misconception(
            "outputs-swapped",
            "The two results are returned in the wrong order.",
            "Return the states first, then the bottleneck.",
        ),
    ),
    choices=(
        ("steps-rolled", "other-way", "reversed", "nothing-swapped"),
        ("bottleneck-too",),
        ("outputs-swapped",),
    ),
    fits=fits_everywhere(),
)
