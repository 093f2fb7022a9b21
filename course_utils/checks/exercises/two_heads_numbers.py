"""Two heads, side by side, times W_O: typed Z_total."""

from course_utils.by_hand import practice
from course_utils.checks.judge import Evidence, Property, Wrong
from course_utils.checks.typed import NearMiss, right, typed, typed_exercise

QUESTION = "two-heads"


def some_row_matches(e: Evidence) -> None:
    expected, got = right(e, QUESTION)["Z_total"], typed(e, "Z_total")
    if got.shape != expected.shape:
        raise Wrong(f"`Z_total`: {practice.what_is_off(expected, got)}")
    if not any(not practice.what_is_off(row, mine) for row, mine in zip(expected, got)):
        raise Wrong("No row of `Z_total` is right yet.", "Finish one row before the others.")


def all_rows_match(e: Evidence) -> None:
    problem = practice.what_is_off(right(e, QUESTION)["Z_total"], typed(e, "Z_total"))
    if problem:
        raise Wrong(f"`Z_total`: {problem}")


exercise = typed_exercise(
    "two-heads-numbers",
    QUESTION,
    {"Z_total": 2},
    [
        NearMiss(
            "heads-in-other-order",
            "The heads are in the wrong order: head 2 comes before head 1.",
            "[Z1, Z2]: the first two rows of W_O belong to head 1.",
        ),
        NearMiss(
            "head-one-twice",
            "You used head 1 twice.",
            "Head 2 has its own queries, keys and values, made with matrices of ones.",
        ),
        NearMiss(
            "head-two-twice", "You used head 2 twice.", "Head 1 is the Z of the question before."
        ),
        NearMiss(
            "head-one-only",
            "Only head 1 is in your result.",
            "Put Z2 beside Z1, so that each row has four entries, then multiply by W_O.",
        ),
        NearMiss(
            "head-two-only",
            "Only head 2 is in your result.",
            "Put Z1 first and Z2 beside it, then multiply by W_O.",
        ),
        NearMiss(
            "columns-interleaved",
            "The columns of the two heads alternate.",
            "First both columns of head 1, then both of head 2.",
        ),
        NearMiss(
            "no-scale",
            "The scores are not scaled before the softmax.",
            "Each head divides by the square root of its own d = 2.",
        ),
        NearMiss(
            "scaled-by-d",
            "You divided the scores by 2: that is d, or the square root of the size of both "
            "heads together.",
            "Each head divides by the square root of its own d = 2, which is 1.414.",
        ),
        NearMiss(
            "scale-of-input-size",
            "You divided by the square root of 3, the size of the tokens in X.",
            "d is the size of a head's queries and keys: 2.",
        ),
        NearMiss(
            "softmax-over-columns",
            "Your softmax runs down the columns.",
            "Each row of P sums to one, in both heads.",
        ),
        NearMiss(
            "softmax-over-everything",
            "Your softmax runs over all 16 scores of a head at once.",
            "Each row of P sums to one by itself.",
        ),
    ],
    properties=(
        Property("a row of Z_total to 3 decimals", 1, some_row_matches),
        Property("all of Z_total to 3 decimals", 1, all_rows_match),
    ),
)
