"""Drawings of self-attention, of heads, and of the transformer as the notebook builds it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .drawing import Canvas
from .picture import Picture, from_figure


def self_attention_diagram() -> Picture:
    """From X to the output of one head, with the shape of every matrix."""
    c = Canvas(720, 250)
    c.box(50, 125, 70, 54, "X\n[L, D]", "matrix")
    for y, name, shape in ((50, "Q", "[L, d]"), (125, "K", "[L, d]"), (200, "V", "[L, dv]")):
        c.arrow((85, 125), (120, y), (150, y))
        c.text(136, y - 8, f"W_{name}", 12)
        c.box(187, y, 70, 46, f"{name}\n{shape}", "matrix")
    c.arrow((222, 50), (250, 82), (278, 82))
    c.arrow((222, 125), (250, 92), (278, 92))
    c.box(331, 87, 100, 54, "scores\nQ Kᵀ / √d", "attention")
    c.arrow((381, 87), (416, 87))
    c.box(462, 87, 88, 54, "mask\n(optional)", "plain")
    c.arrow((506, 87), (540, 87))
    c.box(592, 87, 100, 54, "weights\nsoftmax, [L, L]", "attention", size=12)
    c.arrow((222, 200), (592, 200), (592, 192))
    c.arrow((592, 114), (592, 146))
    c.box(592, 168, 100, 42, "weights · V", "feed")
    c.arrow((642, 168), (690, 168))
    c.text(690, 152, "output", 12, anchor="end")
    c.text(716, 190, "[L, dv]", 12, anchor="end")
    return c.picture(
        "One sequence X gives queries, keys and values through three matrices. Queries and keys "
        "give the scores: Q times K transposed, divided by the square root of d. A mask may forbid "
        "some. The softmax of each row gives the weights, L by L. Weights times values are the output."
    )


def heads_diagram(num_heads: int = 3) -> Picture:
    """D columns are split into heads, which attend by themselves, are joined and go through W_O."""
    row = 58
    c = Canvas(720, 40 + row * num_heads)
    middle = 20 + row * num_heads / 2
    colours = ("attention", "feed", "norm", "word")
    c.box(60, middle, 84, 54, "Q, K, V\n[B, L, D]", "matrix")
    for h in range(num_heads):
        y = 20 + row * (h + 0.5)
        c.arrow((102, middle), (135, y), (158, y))
        c.box(232, y, 146, 42, f"head {h}: columns\n{h}·d to {h + 1}·d", colours[h % 4], size=12)
        c.arrow((305, y), (330, y))
        c.box(390, y, 116, 42, "attention\n[B, L, d]", colours[h % 4], size=12)
        entry = middle + (h - (num_heads - 1) / 2) * 40 / max(3, num_heads)
        c.arrow((448, y), (466, y), (484, entry), (502, entry))
    c.box(546, middle, 88, 54, "side by side\n[B, L, D]", "matrix", size=12)
    c.arrow((590, middle), (622, middle))
    c.box(650, middle, 52, 44, "W_O", "output")
    c.arrow((676, middle), (712, middle))
    return c.picture(
        f"The D columns of Q, K and V are split into {num_heads} heads of d = D / {num_heads} "
        "columns. Each head attends by itself. Their outputs are put side by side again, which "
        "makes D columns, and go through W_O."
    )


PARTS = (
    "embedding",
    "encoder attention",
    "encoder feed-forward",
    "decoder attention",
    "cross-attention",
    "decoder feed-forward",
    "readout",
)


LEFT, RIGHT, WIDE = 170, 460, 170  # the middle of each stack, and the width of its boxes


def transformer_diagram(built: Iterable[str] = PARTS, new: str = "") -> Picture:
    """The transformer with the parts that are built so far; `new` gets a thick outline."""
    there = set(built) | ({new} if new else set())
    strange = sorted(there - set(PARTS))
    if strange:
        raise ValueError(f"The diagram has no part {strange[0]!r}. It has: {', '.join(PARTS)}.")
    c = Canvas(640, 610)
    c.frame(40, 250, 250, 240, "encoder attention" in there)
    c.frame(350, 130, 250, 360, "decoder attention" in there)
    c.text(48, 266, "encoder layer × N", 12, "start", built=False)
    c.text(592, 146, "decoder layer × N", 12, "end", built=False)
    _inputs(c, there, new)
    _encoder(c, there, new)
    _decoder(c, there, new)
    so_far = ", ".join(p for p in PARTS if p in there) or "nothing"
    missing = ", ".join(p for p in PARTS if p not in there)
    return c.picture(
        "The transformer. Left, the encoder: words and positions, then N layers of "
        "self-attention and feed-forward, each with add and norm. Right, the decoder: N layers of "
        "masked self-attention, cross-attention to the encoder's memory, and feed-forward, then "
        f"a linear layer that gives the logits of the next word. Built so far: {so_far}."
        + (f" Still to come: {missing}." if missing else "")
        + (f" New: {new}." if new else "")
    )


def _inputs(c: Canvas, there: set[str], new: str) -> None:
    name, on = "embedding", "embedding" in there
    for x, words in ((LEFT, "source"), (RIGHT, "target, shifted by one")):
        c.text(x, 602, words, 13)
        c.arrow((x, 588), (x, 576), built=on)
        c.box(x, 556, WIDE, 40, "words + positions", "word", on, name == new)
        c.arrow((x, 536), (x, 490), built=on, head=False)


def _encoder(c: Canvas, there: set[str], new: str) -> None:
    name = "encoder attention"
    _sublayer(c, LEFT, 490, "self-attention", "attention", name in there, name == new)
    _split_in_three(c, LEFT, 490, name in there)
    name = "encoder feed-forward"
    c.arrow((LEFT, 392), (LEFT, 382), built=name in there, head=False)
    _sublayer(c, LEFT, 382, "feed-forward", "feed", name in there, name == new)


def _decoder(c: Canvas, there: set[str], new: str) -> None:
    name = "decoder attention"
    _sublayer(c, RIGHT, 490, "masked self-attention", "attention", name in there, name == new)
    _split_in_three(c, RIGHT, 490, name in there)
    name, on = "cross-attention", "cross-attention" in there
    c.arrow((RIGHT, 392), (RIGHT, 372), built=on, head=False)
    c.arrow(
        (LEFT, 284), (LEFT, 236), (320, 236), (320, 356), (RIGHT - 50, 356), built=on, head=False
    )
    c.arrow((RIGHT - 50, 356), (RIGHT - 50, 348), built=on)
    c.arrow((320, 356), (RIGHT - 20, 356), (RIGHT - 20, 348), built=on)
    c.text(312, 228, "memory: keys and values", 12, "end", built=on)
    _sublayer(c, RIGHT, 372, "cross-attention", "attention", on, name == new)
    name, on = "decoder feed-forward", "decoder feed-forward" in there
    c.arrow((RIGHT, 274), (RIGHT, 264), built=on, head=False)
    _sublayer(c, RIGHT, 264, "feed-forward", "feed", on, name == new)
    name, on = "readout", "readout" in there
    c.arrow((RIGHT, 166), (RIGHT, 96), built=on)
    c.box(RIGHT, 76, WIDE, 40, "linear: logits", "output", on, name == new)
    c.arrow((RIGHT, 56), (RIGHT, 30), built=on)
    c.text(RIGHT, 22, "next word", 13, built=on)


def _sublayer(c: Canvas, x: float, y: float, words: str, fill: str, built: bool, new: bool) -> None:
    """A sublayer with its residual path; `y` is the bottom, where the input enters."""
    side = -1 if x == LEFT else 1
    c.arrow((x, y), (x, y - 24), built=built)
    c.box(x, y - 44, WIDE, 40, words, fill, built, new)
    c.arrow((x, y - 64), (x, y - 74), built=built)
    c.box(x, y - 86, WIDE, 24, "add and norm", "norm", built, size=12)
    outer, edge = x + side * (WIDE / 2 + 16), x + side * WIDE / 2
    c.arrow((x, y - 4), (outer, y - 4), (outer, y - 86), (edge, y - 86), built=built)


def _split_in_three(c: Canvas, x: float, y: float, built: bool) -> None:
    """Self-attention takes its input three times: as queries, keys and values."""
    for shift in (-50, 50):
        c.arrow((x, y - 10), (x + shift, y - 10), (x + shift, y - 24), built=built)


def gradient_plot(depths: Sequence[int], sizes: Mapping) -> Picture:
    """Gradients at the bottom and the top layer, by depth: `sizes[name]` is [depths, 2]."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(7.2, 2.9), sharey=True, layout="constrained")
    words = []
    for axes, (name, table) in zip(panels, sizes.items()):
        for column, place, style in ((0, "bottom layer", "o-"), (1, "top layer", "s--")):
            values = [float(row[column]) for row in table]
            axes.plot(depths, values, style, label=place, markersize=5)
            words.append(f"{name}, {place}: " + ", ".join(f"{value:.3f}" for value in values))
        axes.set(title=name, xlabel="layers in the stack", ylim=(0, None))
        axes.set_xscale("log", base=2)
        axes.set_xticks(depths, [str(depth) for depth in depths])
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    panels[0].set_ylabel("size of the gradient")
    return from_figure(
        figure,
        f"Size of the gradient in stacks of {', '.join(map(str, depths))} layers. "
        + ". ".join(words)
        + ".",
    )
