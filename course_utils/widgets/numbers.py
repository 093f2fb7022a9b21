"""Numbers as a student types them and as a small cell shows them."""

import math

import numpy as np

LARGEST = 1e6


class BadNumber(ValueError):
    """What was typed can't be used; the message says why, for the student."""


def parse_number(text: str, smallest: float = -LARGEST, largest: float = LARGEST) -> float:
    """The number that was typed, or BadNumber with a sentence that says what is wrong."""
    typed = text.strip().replace("−", "-")
    if not typed:
        raise BadNumber("is empty: type a number such as 1.5.")
    try:
        value = float(typed)
    except ValueError:
        if "," in typed:
            raise BadNumber(f"says {typed[:20]!r}: write a decimal point, as in 1.5.") from None
        raise BadNumber(
            f"says {typed[:20]!r}, which is not a number: type one such as -1.5."
        ) from None
    if math.isnan(value):
        raise BadNumber("says NaN, which has no value to compute with: type a number.")
    if not smallest <= value <= largest:
        raise BadNumber(
            f"says {typed[:20]}: use numbers from {exact(smallest)} to {exact(largest)}."
        )
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


def shown(value: float, decimals: int = 3) -> str:
    """A number for a cell of a picture: short, and never a wrong zero."""
    if value == -math.inf:
        return "−∞"
    size = abs(value)
    if size == 0 or 0.5 * 10**-decimals <= size < 1e5:
        text = f"{value:.{decimals}f}"
        # 2.000 is kept where it stands for 1.9998: a bare 2 would claim too much.
        if "." in text and math.isclose(float(text), value, rel_tol=1e-9):
            text = text.rstrip("0").rstrip(".")
        if text == "-0":
            text = "0"
    else:
        mantissa, exponent = f"{value:.1e}".split("e")
        text = f"{mantissa}e{int(exponent)}"
    return text.replace("-", "−")


def fixed(value: float, decimals: int = 2) -> str:
    """A number with always as many decimals, for columns of scores."""
    return f"{value:.{decimals}f}".replace("-", "−")


def weight(value: float) -> str:
    """A probability for a cell: three decimals, or a power of ten where those would all be 0."""
    return f"{value:.3f}" if value == 0 or value >= 0.0005 else shown(value)
