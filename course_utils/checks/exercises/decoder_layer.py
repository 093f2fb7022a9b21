"""DecoderLayer: masked self-attention, cross-attention to the memory, feed-forward."""

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

SIZES = {  # label: B, T, S, D, num_heads, d_ff, norm_first, dropout
    "after": (2, 4, 5, 6, 2, 9, False, 0.0),
    "before": (2, 3, 5, 6, 3, 7, True, 0.0),
    "masked after": (2, 4, 5, 6, 2, 9, False, 0.0),
    "masked before": (2, 4, 5, 6, 2, 9, True, 0.0),
    "single": (1, 1, 1, 4, 2, 3, False, 0.0),
    "dropped": (2, 4, 5, 6, 2, 9, False, 1.0),
    "dropped before": (2, 4, 5, 6, 2, 9, True, 1.0),
    "evaluated": (2, 4, 5, 6, 2, 9, False, 0.5),
    "evaluated before": (2, 4, 5, 6, 2, 9, True, 0.5),
}
NAMES = ("x", "memory")
AFTER, BEFORE = (
    "norm_first=False: three sublayers, the norm after each sum",
    "norm_first=True: the norm before each sublayer",
)


def asks(rng: np.random.Generator) -> list[Ask]:
    questions = []
    for label, (B, T, S, D, num_heads, d_ff, norm_first, dropout) in SIZES.items():
        args = [rng.standard_normal((B, T, D)), rng.standard_normal((B, S, D))]
        if label.startswith("masked"):
            args += [some_mask(rng, T, T), some_mask(rng, B, 1, S)]
        options: dict[str, Any] = {
            "target": "DecoderLayer",
            # "single" leaves norm_first and dropout to their defaults.
            "init": [D, num_heads, d_ff, *([] if label == "single" else [norm_first, dropout])],
            "args": args,
            "fill": {"named": layer(rng, D, d_ff, decoder=True)},
        }
        if label.startswith("evaluated"):
            options["eval"] = True
        if label in ("after", "before"):
            options["other"] = [a[:-1, :-1] for a in args]
            options["upstream"] = [rng.standard_normal((B, T, D))]
            options["directions"] = [rng.standard_normal(a.shape) for a in args]
        questions.append(Ask(label, "call", options))
    return questions


def read(e: Evidence, label: str) -> list[np.ndarray]:
    B, T, _, D, *_ = SIZES[label]
    return e.outputs(label, (B, T, D))


def stays(e: Evidence) -> None:
    for label in ("after", "before"):
        B, T, _, D, *_ = SIZES[label]
        stays_and_repeats(e, label, [(B, T, D)], NAMES)
        slopes_match(e, label, NAMES)


BOTH, MASKS = ("after", "before"), ("masked after", "masked before")
exercise = Check(
    id="decoder-layer",
    asks=asks,
    properties=(
        Property(
            AFTER,
            1.5,
            output_matches(
                read,
                ("after", "single"),
                "The output is wrong with norm_first=False.",
                "norm1 belongs to the self-attention, norm2 to the cross-attention, norm3 to the "
                "feed-forward network; each is applied after the sum.",
            ),
        ),
        Property(
            BEFORE,
            1,
            output_matches(
                read,
                ("before",),
                "The output is wrong with norm_first=True.",
                "x = x + sublayer(norm(x)), three times. The memory is not normalised again.",
            ),
        ),
        Property(
            "each mask reaches its own attention",
            0.75,
            output_matches(
                read,
                MASKS,
                "The output is wrong with masks.",
                "self_mask belongs to the self-attention, memory_mask to the cross-attention.",
            ),
            needs=(AFTER, BEFORE),
        ),
        Property(
            "dropout applies to what each sublayer adds",
            0.25,
            output_matches(
                read,
                ("dropped", "dropped before"),
                "With a dropout of 1, only the residual path should remain.",
                "Dropout goes on all three sublayers' outputs before they are added, and nowhere else.",
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
            "The sum around the self-attention is missing.",
            "The attention's output is added to its input: x + ...",
        ),
        Misconception(
            "no-residual-around-cross-attention",
            "The sum around the cross-attention is missing.",
            "The cross-attention's output is added to its input: x + ...",
        ),
        NO_SUM_AROUND_FEED_FORWARD,
        Misconception("no-norms", "The layer norms are missing.", "Use norm1, norm2 and norm3."),
        Misconception(
            "one-norm-for-all",
            "self.norm1 is used for every sublayer.",
            "Each sublayer has its own norm.",
        ),
        *DIRECT_PATH,
        Misconception(
            "cross-attends-to-itself",
            "The cross-attention looks at the target, not at the memory.",
            "Queries come from x, keys and values from memory.",
        ),
        Misconception(
            "same-attention-twice",
            "self.attention is used for the cross-attention too.",
            "The second sublayer is self.cross_attention.",
        ),
        Misconception(
            "cross-attention-first",
            "The cross-attention comes before the self-attention.",
            "First the target looks at itself, then at the source.",
        ),
        Misconception(
            "no-cross-attention",
            "The cross-attention is missing: the decoder never sees the source.",
            "It is the second sublayer: queries from x, keys and values from memory.",
        ),
        Misconception(
            "no-feed-forward",
            "The feed-forward network is missing.",
            "It is the third sublayer, with norm3.",
        ),
        Misconception(
            "memory-normalised",
            "With norm_first=True you normalise the memory as well.",
            "Only x goes through the norm: the encoder has already normalised the memory.",
        ),
        Misconception(
            "self-mask-ignored",
            "self_mask has no effect: each position sees the future.",
            "Pass self_mask on to the self-attention.",
        ),
        Misconception(
            "self-mask-inverted",
            "self_mask is inverted.",
            "True means that attention is allowed. Pass the mask on as it is.",
        ),
        Misconception(
            "memory-mask-ignored",
            "memory_mask has no effect: the decoder attends to padding.",
            "Pass memory_mask on to the cross-attention.",
        ),
        cut_off("after", NAMES),
    ),
    choices=(
        *NORM_CHOICES,
        (
            "no-residuals",
            "no-residual-around-attention",
            "no-residual-around-cross-attention",
            "no-residual-around-feed-forward",
        ),
        (
            "cross-attends-to-itself",
            "same-attention-twice",
            "cross-attention-first",
            "no-cross-attention",
        ),
        ("no-feed-forward",),
        ("memory-normalised",),
        (
            "self-mask-ignored",
            "self-mask-inverted",
        ),
        ("memory-mask-ignored",),
    ),
    fits=fits_everywhere(),
)
