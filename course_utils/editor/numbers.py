"""Numbers as a student types them, and as fields and code show them."""

import math

import numpy as np

LARGEST = 1e6


class BadNumber(ValueError):
    """What was typed can't be used; the message tells the student why."""


def parse_number(text: str, smallest: float = -LARGEST, largest: float = LARGEST) -> float:
    """The number that was typed, or BadNumber with a sentence on what is wrong."""
    typed = text.strip().replace("−", "-")
    example = "-1.5" if smallest <= -1.5 else "1.5"  # one that would be taken
    if not typed:
        raise BadNumber("is empty: type a number such as 1.5.")
    try:
        value = float(typed)
    except ValueError:
        if "," in typed:
            raise BadNumber(f"contains {typed[:20]!r}: write a decimal point, as in 1.5.") from None
        raise BadNumber(
            f"contains {typed[:20]!r}, which is not a number: type one such as {example}."
        ) from None
    if math.isnan(value):
        raise BadNumber("contains NaN, which is not a number: type one such as 1.5.")
    if not smallest <= value <= largest:
        raise BadNumber(f"is {typed[:20]}: use numbers from {exact(smallest)} to {exact(largest)}.")
    return value + 0.0  # turns -0.0 into 0.0


def exact(value: float) -> str:
    """A number for a field or for code: all digits that matter, no more."""
    short = f"{value:.12g}"
    return "0" if short == "-0" else short


def literal(value) -> str:
    """A number or a matrix as code, with every digit: run again, it is the same."""
    if isinstance(value, np.ndarray):
        value = value.astype(float).tolist()
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    return repr(float(value) + 0.0).removesuffix(".0")  # adding 0.0 turns -0.0 into 0.0
