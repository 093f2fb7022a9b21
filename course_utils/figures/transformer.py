"""Drawings of self-attention, of heads, and of the transformer as the notebook builds it."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

INK, PALE, GRID = "#1b2733", "#8a97a5", "#c9d1d9"
FILLS = {
    "attention": "#ffd9a8",
    "feed": "#bfe0f5",
    "norm": "#eef3b5",
    "word": "#f6c9d4",
    "output": "#d5cdf0",
    "matrix": "#e3ecf5",
    "plain": "#ffffff",
}
_numbers = itertools.count()


@dataclass
class Picture:
    """An SVG drawing and the same in words; a notebook shows it by itself."""

    svg: str
    words: str

    def _repr_html_(self) -> str:
        return self.svg

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/html": self.svg, "text/plain": self.words}


@dataclass
class Canvas:
    """Collects shapes; y grows downwards, as in every SVG."""

    width: float
    height: float
    shapes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Each drawing on a page needs an arrow head with a name of its own.
        self.arrow_head = f"course-arrow-{next(_numbers)}"

    def box(self, x, y, width, height, text="", fill="plain", built=True, new=False, size=13):
        """A labelled box around (x, y) as its centre; dashed and empty when not built yet."""
        stroke = INK if built else PALE
        style = f'fill="{FILLS[fill] if built else "#ffffff"}" stroke="{stroke}"'
        style += f' stroke-width="{2.6 if new else 1.2}"'
        style += "" if built else ' stroke-dasharray="4 3"'
        self.shapes.append(
            f'<rect x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width:g}" '
            f'height="{height:g}" rx="6" {style}/>'
        )
        lines = text.split("\n")
        for number, line in enumerate(lines):
            offset = (number - (len(lines) - 1) / 2) * (size + 2)
            self.text(x, y + offset + size / 3, line, size, stroke, bold=new)

    def text(self, x, y, text, size=13, colour=INK, anchor="middle", bold=False):
        weight = ' font-weight="bold"' if bold else ""
        self.shapes.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{colour}"{weight}>{html.escape(text)}</text>'
        )

    def arrow(self, *points, built=True, head=True):
        """A line through the points, with an arrow head at the last one."""
        path = "M" + " L".join(f"{x:g} {y:g}" for x, y in points)
        colour = INK if built else GRID
        tip = f' marker-end="url(#{self.arrow_head})"' if head and built else ""
        self.shapes.append(
            f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.4"{tip}/>'
        )

    def frame(self, x, y, width, height, built=True):
        self.shapes.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="12" '
            f'fill="#f7f9fb" stroke="{INK if built else GRID}" stroke-width="1"/>'
        )

    def picture(self, words: str) -> Picture:
        alternative = html.escape(words, quote=True)
        head = (
            f'<marker id="{self.arrow_head}" viewBox="0 0 10 10" refX="9" refY="5" '
            'markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
            f'<path d="M0 0 L10 5 L0 10 z" fill="{INK}"/></marker>'
        )
        svg = (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{alternative}" '
            f'viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}" '
            'style="max-width:100%;height:auto;background:#ffffff" '
            'font-family="Helvetica, Arial, sans-serif">'
            f"<title>{alternative}</title><defs>{head}</defs>{''.join(self.shapes)}</svg>"
        )
        return Picture(svg, words)


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
        "One sequence X makes queries, keys and values through three matrices. Queries and keys "
        "give scores, Q times K transposed over root d. A mask may forbid some. The softmax of "
        "each row gives the weights, L by L. Weights times values are the output."
    )


def heads_diagram(num_heads: int = 3) -> Picture:
    """D columns cut into heads, each attends by itself, then side by side and through W_O."""
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
        f"The D columns of Q, K and V are cut into {num_heads} heads of d = D / {num_heads} "
        "columns. Each head attends by itself. Their outputs stand side by side again, D columns, "
        "and go through W_O."
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


def transformer_diagram(built: Iterable[str] = PARTS, new: str = "") -> Picture:
    """The transformer with the parts that are built so far; `new` gets a thick outline."""
    built = set(built) | ({new} if new else set())
    strange = sorted(built - set(PARTS))
    if strange:
        raise ValueError(f"The diagram has no part {strange[0]!r}. It has: {', '.join(PARTS)}.")
    c = Canvas(640, 610)
    left, right, wide = 170, 460, 170

    def part(name, x, y, text, fill):
        c.box(x, y, wide, 40, text, fill, name in built, name == new)

    def add_and_norm(name, x, y):
        c.box(x, y, wide, 24, "add and norm", "norm", name in built, size=12)

    def block(name, x, y, text, fill, entry=None):
        """A sublayer with its residual path: `y` is the bottom, where its input comes in."""
        there = name in built
        side = -1 if x == left else 1
        c.arrow((x, y), (x, y - 24), built=there)
        if entry is None:
            for shift in (-50, 50):
                c.arrow((x, y - 10), (x + shift, y - 10), (x + shift, y - 24), built=there)
        part(name, x, y - 44, text, fill)
        c.arrow((x, y - 64), (x, y - 74), built=there)
        add_and_norm(name, x, y - 86)
        outer = x + side * (wide / 2 + 16)
        edge = x + side * wide / 2
        c.arrow((x, y - 4), (outer, y - 4), (outer, y - 86), (edge, y - 86), built=there)

    c.frame(40, 250, 250, 240, "encoder attention" in built)
    c.frame(350, 130, 250, 360, "decoder attention" in built)
    c.text(48, 266, "encoder layer × N", 12, PALE, "start")
    c.text(592, 146, "decoder layer × N", 12, PALE, "end")
    for x, name in ((left, "source"), (right, "target, one step late")):
        c.text(x, 602, name, 13)
        c.arrow((x, 588), (x, 576), built="embedding" in built)
        part("embedding", x, 556, "words + positions", "word")
        c.arrow((x, 536), (x, 490), built="embedding" in built, head=False)
    block("encoder attention", left, 490, "self-attention", "attention")
    c.arrow((left, 392), (left, 382), built="encoder feed-forward" in built, head=False)
    block("encoder feed-forward", left, 382, "feed-forward", "feed", entry="one")
    block("decoder attention", right, 490, "masked self-attention", "attention")
    c.arrow((right, 392), (right, 372), built="cross-attention" in built, head=False)
    there = "cross-attention" in built
    c.arrow(
        (left, 284), (left, 236), (320, 236), (320, 356), (right - 50, 356), built=there, head=False
    )
    c.arrow((right - 50, 356), (right - 50, 348), built=there)
    c.arrow((320, 356), (right - 20, 356), (right - 20, 348), built=there)
    c.text(312, 228, "memory: keys and values", 12, INK if there else GRID, "end")
    block("cross-attention", right, 372, "cross-attention", "attention", entry="memory")
    c.arrow((right, 274), (right, 264), built="decoder feed-forward" in built, head=False)
    block("decoder feed-forward", right, 264, "feed-forward", "feed", entry="one")
    done = "readout" in built
    c.arrow((right, 166), (right, 96), built=done)
    part("readout", right, 76, "linear: a score a word", "output")
    c.arrow((right, 56), (right, 30), built=done)
    c.text(right, 22, "next word", 13, INK if done else GRID)
    there_now = ", ".join(p for p in PARTS if p in built) or "nothing"
    missing = ", ".join(p for p in PARTS if p not in built)
    return c.picture(
        "The transformer. Left, the encoder: words and positions, then N layers of "
        "self-attention and feed-forward, each with add and norm. Right, the decoder: N layers of "
        "masked self-attention, cross-attention to the encoder's memory, and feed-forward, then "
        f"a linear layer that scores the next word. Built so far: {there_now}."
        + (f" Still to come: {missing}." if missing else "")
        + (f" New: {new}." if new else "")
    )


def gradient_plot(depths, sizes: dict):
    """Gradients at the bottom and the top layer, by depth: `sizes[name]` is [depths, 2]."""
    import matplotlib.pyplot as plt

    from course_utils.figures.described import described

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
    plt.close(figure)
    return described(
        figure,
        f"Size of the gradient in stacks of {', '.join(map(str, depths))} layers. "
        + ". ".join(words)
        + ".",
    )
