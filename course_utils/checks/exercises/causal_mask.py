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
            "The mask allows the wrong positions (1 stands for True).",
            "Row t belongs to query t. Which keys s may it see? Itself and the past.",
            ("query t", "key s"),
        )


def holds_truth_values(e: Evidence) -> None:
    for label in e.labels():
        read(e, label)
        kind = e.reply(label).arrays["out0"].dtype
        if kind.kind != "b":
            raise Wrong(
                f"A mask holds True and False (torch.bool), and yours holds {kind}.",
                "torch.ones(L, L, dtype=torch.bool), or compare two numbers.",
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
            "Your mask holds minus infinity. Here a mask says True or False; the minus infinity "
            "comes in when it is used.",
            "Return truth values: True where attention is allowed.",
            _minus_infinity,
        ),
        Misconception(
            "true-where-forbidden",
            "Your mask is True where attention is forbidden.",
            "In this course True means: may look.",
        ),
        Misconception(
            "upper-triangle",
            "Your mask shows each position itself and the future.",
            "The past lies left of the diagonal: the lower triangle, tril.",
        ),
        Misconception(
            "one-step-ahead",
            "Your mask lets each position look one step into the future.",
            "Position t predicts token t + 1: it must not see it.",
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
