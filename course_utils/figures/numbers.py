"""Numbers as pictures and tables show them: short, and never rounded to a false zero."""

import math


def shown(value: float, decimals: int = 3) -> str:
    """A number for a cell of a picture: short, and never rounded to a false zero."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    if size == 0 or 0.5 * 10**-decimals <= size < 1e5:
        text = f"{value:.{decimals}f}"
        # 2.000 is kept for 1.9998: a bare 2 would claim too much.
        if "." in text and math.isclose(float(text), value, rel_tol=1e-9):
            text = text.rstrip("0").rstrip(".")
        if text == "-0":
            text = "0"
    else:
        mantissa, exponent = f"{value:.1e}".split("e")
        text = f"{mantissa}e{int(exponent)}"
    return text.replace("-", "−")


def fixed(value: float, decimals: int = 2) -> str:
    """A number with a fixed number of decimals, for columns of scores."""
    return f"{value:.{decimals}f}".replace("-", "−")


def weight(value: float) -> str:
    """A probability for a cell: three decimals, or a power of ten if they would all be 0."""
    return f"{value:.3f}" if value == 0 or value >= 0.0005 else shown(value)
