"""EncoderLayer: self-attention and feed-forward, each with its residual, norm and dropout."""

from typing import Any

import numpy as np

from course_utils.checks.judge import Check, Evidence, Misconception, Property
from course_utils.checks.layer_checks import (
    changes_its_input,
    cut_off,
    dropout_in_evaluation,
    fits_everywhere,
    output_matches,
    slopes_match,
    stays_and_repeats,
)
from course_utils.checks.layer_parameters import layer, some_mask
from course_utils.checks.transformer_layers import (
    DIRECT_PATH,
    NO_SUM_AROUND_FEED_FORWARD,
    NORM_CHOICES,
    NORMS_AND_SUMS,
    keeps_still,
)
from course_utils.checks.wire import Ask

SIZES = {  # label: B, S, D, num_heads, d_ff, norm_first, dropout
    "after": (2, 5, 6, 2, 9, False, 0.0),
    "before": (2, 4, 6, 3, 7, True, 0.0),
    "masked after": (2, 5, 6, 2, 9, False, 0.0),
    "masked before": (3, 4, 6, 2, 9, True, 0.0),
    "single": (1, 1, 4, 2, 3, False, 0.0),
    "dropped after": (2, 5, 6, 2, 9, False, 1.0),
    "dropped before": (2, 5, 6, 2, 9, True, 1.0),
    "evaluated": (2, 5, 6, 2, 9, False, 0.5),
    "evaluated before": (2, 5, 6, 2, 9, True, 0.5),
}
AFTER, BEFORE, MASKED = (
    "norm_first=False: the norm comes after each sum",
    "norm_first=True: the norm comes before each sublayer",
    "the mask reaches the attention",
)


def asks(rng: np.random.Generator) -> list[Ask]:
    questions = []
    for label, (B, S, D, num_heads, d_ff, norm_first, dropout) in SIZES.items():
        args = [rng.standard_normal((B, S, D))]
        if label == "masked after":
            args.append(some_mask(rng, S, S))
        if label == "masked before":
            args.append(some_mask(rng, B, S, S))
        options: dict[str, Any] = {
            "target": "EncoderLayer",
            # "single" leaves norm_first and dropout to their defaults.
            "init": [D, num_heads, d_ff, *([] if label == "single" else [norm_first, dropout])],
            "args": args,
            "fill": {"named": layer(rng, D, d_ff)},
        }
        if label.startswith("evaluated"):
            options["eval"] = True
        if label in ("after", "before"):
            options["other"] = [a[:-1, :-1] for a in args]
            options["upstream"] = [rng.standard_normal((B, S, D))]
            options["directions"] = [rng.standard_normal((B, S, D))]
        questions.append(Ask(label, "call", options))
    return questions


def read(e: Evidence, label: str) -> list[np.ndarray]:
    B, S, D, *_ = SIZES[label]
    return e.outputs(label, (B, S, D))


def stays(e: Evidence) -> None:
    for label in ("after", "before"):
        B, S, D, *_ = SIZES[label]
        stays_and_repeats(e, label, [(B, S, D)], ("x",))
        slopes_match(e, label, ("x",))


BOTH = ("after", "before")
exercise = Check(
    id="encoder-layer",
    asks=asks,
    properties=(
        Property(
            AFTER,
            1.5,
            output_matches(
                read,
                ("after", "single"),
                "The output is wrong with norm_first=False.",
                "x = norm1(x + attention(x)), then x = norm2(x + feed_forward(x)).",
            ),
        ),
        Property(
            BEFORE,
            1,
            output_matches(
                read,
                ("before",),
                "The output is wrong with norm_first=True.",
                "x = x + attention(norm1(x)), then x = x + feed_forward(norm2(x)).",
            ),
        ),
        Property(
            MASKED,
            0.75,
            output_matches(
                read,
                ("masked after", "masked before"),
                "The output is wrong with a mask.",
                "Pass the mask on to the attention, as it is.",
            ),
            needs=(AFTER, BEFORE),
        ),
        Property(
            "dropout applies to what each sublayer adds",
            0.25,
            output_matches(
                read,
                ("dropped after", "dropped before"),
                "With a dropout of 1, only the residual path should remain.",
                "Dropout goes on both sublayers' outputs before they are added, and nowhere else.",
            ),
            needs=(AFTER, BEFORE),
        ),
        *keeps_still(read, stays, (AFTER, BEFORE)),
    ),
    misconceptions=(
        dropout_in_evaluation("evaluated"),
        changes_its_input("after"),
        *NORMS_AND_SUMS,
        Misconception(
            "no-residual-around-attention",
            "The sum around the attention is missing.",
            "The attention's output is added to its input: x + ...",
        ),
        NO_SUM_AROUND_FEED_FORWARD,
        Misconception("no-norms", "The layer norms are missing.", "Use self.norm1 and self.norm2."),
        Misconception(
            "one-norm-for-all",
            "self.norm1 is used for both sublayers.",
            "Each sublayer has its own norm: norm2 belongs to the feed-forward network.",
        ),
        *DIRECT_PATH,
        Misconception(
            "feed-forward-first",
            "The feed-forward network comes before the attention.",
            "A position first gathers what it needs, then processes it: attention, then feed-forward.",
        ),
        Misconception(
            "no-feed-forward",
            "The feed-forward network is missing.",
            "It is the second sublayer, with norm2.",
        ),
        Misconception("mask-ignored", "The mask has no effect.", "Pass it on to the attention."),
        Misconception(
            "mask-inverted",
            "The mask is inverted.",
            "True means that attention is allowed, here and in MultiHeadAttention. Pass it on as it is.",
        ),
        cut_off("after", ("x",)),
    ),
    choices=(
        *NORM_CHOICES,
        (
            "no-residuals",
            "no-residual-around-attention",
            "no-residual-around-feed-forward",
        ),
        (
            "feed-forward-first",
            "no-feed-forward",
        ),
        (
            "mask-ignored",
            "mask-inverted",
        ),
    ),
    fits=fits_everywhere(),
)
