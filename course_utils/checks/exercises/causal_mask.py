"""causal_mask: position t may look at position s when s is not in the future."""

import numpy as np

from course_utils.checks.judge import Check, Evidence, Misconception, Property, Wrong, same
from course_utils.checks.layer_checks import fits_everywhere
from course_utils.checks.wire import Ask

LENGTHS = {"four": 4, "seven": 7, "one": 1}
RIGHT = "True where attention is allowed: at s up to t, and nowhere else"


def asks(rng: np.random.Generator) -> list[Ask]:
    lengths = LENGTHS | {"drawn": int(rng.integers(8, 20))}
    return [
        Ask(label, "call", {"target": "causal_mask", "args": [length]})
        for label, length in lengths.items()
    ]


def read(e: Evidence, label: str) -> list[np.ndarray]:
    (L,) = e.args(label)
    return e.outputs(label, (L, L))


def pattern_matches(e: Evidence) -> None:
    for label in e.labels():
        same(
            e.expected(label)["right/0"],
            read(e, label)[0],
            1e-9,
            "The mask allows the wrong positions (1 means True).",
            "Row t belongs to query t. Which keys s may it see? Itself and the past.",
            ("query t", "key s"),
        )


def holds_truth_values(e: Evidence) -> None:
    for label in e.labels():
        read(e, label)
        kind = e.reply(label).arrays["out0"].dtype
        if kind.kind != "b":
            raise Wrong(
                f"A mask contains True and False (torch.bool), but yours contains {kind}.",
                "Use dtype=torch.bool, or a comparison of numbers, which gives truth values.",
            )


def _minus_infinity(e: Evidence) -> bool:
    return bool(np.isneginf(e.reply("four").arrays["out0"]).any())


exercise = Check(
    id="causal-mask",
    asks=asks,
    properties=(
        Property(RIGHT, 3, pattern_matches),
        Property("it is a tensor of truth values", 1, holds_truth_values, needs=(RIGHT,)),
    ),
    misconceptions=(
        Misconception(
            "minus-infinity-in-the-mask",
            "Your mask contains minus infinity. Here a mask is True or False; minus infinity "
            "only comes in when the mask is used.",
            "Return truth values: True where attention is allowed.",
            _minus_infinity,
        ),
        Misconception(
            "true-where-forbidden",
            "Your mask is True where attention is forbidden.",
            "In this course, True means that attention is allowed.",
        ),
        Misconception(
            "upper-triangle",
            "Your mask shows each position itself and the future, but not the past.",
            "The past is to the left of the diagonal: the lower triangle.",
        ),
        Misconception(
            "one-step-ahead",
            "Your mask lets each position look one step into the future.",
            "Position t predicts token t + 1, so it must not see it.",
        ),
        Misconception(
            "blind-to-itself",
            "Your mask hides each position from itself, and the first one sees nothing.",
            "s = t is allowed: keep the diagonal.",
        ),
        Misconception("all-allowed", "Your mask allows everything.", "Forbid s > t."),
    ),
    choices=(
        (
            "true-where-forbidden",
            "upper-triangle",
            "one-step-ahead",
            "blind-to-itself",
            "all-allowed",
        ),
    ),
    fits=fits_everywhere(),
)
