"""Drawings for the pen-and-paper notebook: one query, one step of self-attention, two heads."""

from .drawing import Canvas
from .picture import Picture

SMALL = "₁₂₃₄"


def one_query() -> Picture:
    """A query meets four rows: scores, weights, and the weighted sum."""
    c = Canvas(700, 270)
    c.box(60, 135, 76, 44, "query q", "attention")
    for row in range(4):
        y = 42 + 62 * row
        n = SMALL[row]
        c.arrow((98, 135), (150, y), (178, y))
        c.box(212, y, 66, 36, f"x{n}", "matrix")
        c.arrow((245, y), (290, y))
        c.box(345, y, 108, 36, f"q · x{n} / √d", "attention")
        c.arrow((399, y), (440, y))
        c.box(478, y, 74, 36, f"weight α{n}", "feed", size=12)
        c.arrow((515, y), (555, y), (590, 135))
    c.text(420, 262, "softmax: the four weights sum to one", 12)
    c.box(632, 135, 84, 54, "output\nΣ αₛ xₛ", "output")
    return c.picture(
        "A query q is compared with four rows x1 to x4. Each comparison is a dot product divided "
        "by the square root of d. The softmax turns the four scores into four weights that sum to "
        "one. The output is the sum of the rows, each multiplied by its weight."
    )


def one_step() -> Picture:
    """Self-attention at step 2 of three: one query, three keys, three values, one output."""
    c = Canvas(640, 420)
    c.box(320, 165, 500, 38, "", "norm")
    c.text(254, 170, "softmax, over the", 12)
    c.text(450, 170, "scores of query 2", 12)
    for place, x in enumerate((120, 320, 520)):
        n = SMALL[place]
        c.box(x, 390, 70, 36, f"h{n}", "plain", new=place == 1)
        if place == 1:
            c.arrow((x - 20, 372), (x - 62, 322))
            c.box(x - 66, 304, 60, 34, "q₂", "attention", new=True)
        c.arrow((x, 372), (x, 322))
        c.box(x, 304, 60, 34, f"k{n}", "matrix")
        c.arrow((x + 20, 372), (x + 62, 322))
        c.box(x + 66, 304, 60, 34, f"v{n}", "word")
        c.arrow((x, 287), (x, 248))
        c.box(x, 230, 92, 36, f"score q₂ · k{n}", "attention", size=11)
        c.arrow((x, 212), (x, 184))
        c.arrow((x, 146), (x, 118))
        c.arrow((x + 66, 287), (x + 66, 100), (x + 48, 100))
        c.box(x, 100, 94, 36, f"weight₂{n} · v{n}", "feed", size=12)
        c.arrow((x, 82), (320, 50))
    c.box(320, 30, 130, 38, "+   gives h′₂", "output")
    return c.picture(
        "Self-attention at step 2. Each hidden state h1, h2, h3 gives a key and a value; h2 also "
        "gives the query q2. The query meets each key in a dot product. The softmax runs over the "
        "three scores of query 2. Each value is multiplied by its weight, and the sum of the three "
        "is the new state h2 prime."
    )


def two_heads() -> Picture:
    """Two heads on the same X, side by side, then W_O."""
    c = Canvas(716, 190)
    c.box(56, 95, 76, 50, "X\n[4, 3]", "matrix")
    for y, number, fill in ((48, "1", "attention"), (142, "2", "feed")):
        c.arrow((94, 95), (130, y), (158, y))
        c.box(
            240, y, 164, 50, f"head {number}: attention with\nits own W_Q, W_K, W_V", fill, size=12
        )
        c.arrow((322, y), (352, y))
        c.box(390, y, 76, 50, f"Z{SMALL[int(number) - 1]}\n[4, 2]", fill)
        c.arrow((428, y), (452, y), (480, 95))
    c.box(524, 95, 88, 50, "[Z₁, Z₂]\n[4, 4]", "matrix")
    c.arrow((568, 95), (618, 95))
    c.text(592, 86, "W_O", 12)
    c.box(664, 95, 88, 50, "Z_total\n[4, 3]", "output")
    return c.picture(
        "X goes through two heads, each with its own W_Q, W_K and W_V. Their outputs Z1 and Z2, "
        "with four rows and two columns each, are put side by side as four columns. Multiplied by "
        "W_O, they give Z_total, with four rows and three columns."
    )
