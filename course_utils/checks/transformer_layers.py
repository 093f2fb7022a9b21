"""What the checks of EncoderLayer and DecoderLayer share: sums, norms and dropout."""

from collections.abc import Callable

from course_utils.checks.judge import Evidence, Misconception, Property
from course_utils.checks.layer_checks import evaluation_is_still

NORMS_AND_SUMS = (
    Misconception(
        "norm-first-ignored",
        "norm_first has no effect: the norm always comes after the sum.",
        "Look at self.norm_first, and normalise before the sublayer if it is True.",
    ),
    Misconception(
        "norm-first-exchanged",
        "The two orders are swapped: norm_first=True gives what norm_first=False should.",
        "With norm_first=True the norm comes before the sublayer.",
    ),
    Misconception(
        "no-dropout",
        "Dropout has no effect.",
        "Apply self.dropout to what each sublayer adds to x.",
    ),
    Misconception(
        "always-norm-first",
        "The norm always comes before the sublayer, whatever norm_first is.",
        "With norm_first=False it comes after the sum.",
    ),
    Misconception(
        "no-residuals",
        "The residual sums are missing.",
        "The output of a sublayer is added to its input: x + ...",
    ),
)
NO_SUM_AROUND_FEED_FORWARD = Misconception(
    "no-residual-around-feed-forward",
    "The sum around the feed-forward network is missing.",
    "The network's output is added to its input: x + ...",
)
DIRECT_PATH = (
    Misconception(
        "residual-from-the-norm",
        "With norm_first=True you add to the normalised x, so the direct path is lost.",
        "Keep x itself for the sum; only the sublayer reads the normalised x.",
    ),
    Misconception(
        "norm-inside-the-sum",
        "You normalise the sublayer's output and then add x. The norm belongs around the sum.",
        "norm1(x + attention(x)), not x + norm1(attention(x)).",
    ),
)
# An answer can make at most one mistake from each of these.
NORM_CHOICES = (
    ("norm-first-ignored", "always-norm-first", "norm-first-exchanged"),
    ("no-norms", "one-norm-for-all"),
    ("residual-from-the-norm", "norm-inside-the-sum"),
    ("no-dropout",),
)


def keeps_still(
    read, stays: Callable[[Evidence], None], needs: tuple[str, ...]
) -> tuple[Property, ...]:
    """What a layer must not do, once it computes what it should."""
    return (
        Property(
            "after eval() dropout has no effect",
            0.25,
            evaluation_is_still(read, ("evaluated", "evaluated before")),
            needs=needs,
        ),
        Property(
            "two calls agree, inputs are unchanged, gradients flow",
            0.25,
            stays,
            needs=needs,
        ),
    )
