"""Drawings as SVG: lines of text, and a canvas for boxes and arrows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from .picture import SMALLEST, Picture

_numbers = itertools.count()


def drawing(width: float, height: float, words: str, parts: Sequence[str]) -> Picture:
    """Parts of SVG as a picture, with the words that a screen reader reads out instead."""
    return Picture(
        f'<svg role="img" aria-label="{escape(words)}" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'style="min-width:{SMALLEST * width:.0f}px" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>',
        words,
    )


def text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "start",
    size: int = 12,
    kind: str = "",
    bold: bool = False,
    slanted: bool = False,
) -> str:
    """One line of text; kind names classes of the style sheet, such as q for quiet."""
    extra = f' class="{kind}"' if kind else ""
    extra += ' font-weight="700"' if bold else ""
    extra += f' transform="rotate(-45 {x:.1f} {y:.1f})"' if slanted else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{extra}>'
        f"{escape(words)}</text>"
    )


@dataclass
class Canvas:
    """Collects the shapes of a diagram; y grows downwards, as in every SVG."""

    width: float
    height: float
    shapes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Each drawing on a page needs its own name for the arrow head.
        self.arrow_head = f"course-arrow-{next(_numbers)}"

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        words: str = "",
        fill: str = "plain",
        built: bool = True,
        new: bool = False,
        size: int = 13,
    ) -> None:
        """A labelled box with its centre at (x, y); dashed and empty if it is not built yet."""
        kind = f"box_{fill}" if built else "box_plain later"
        self.shapes.append(
            f'<rect class="{kind}" x="{x - width / 2:g}" y="{y - height / 2:g}" '
            f'width="{width:g}" height="{height:g}" rx="6" stroke-width="{2.6 if new else 1.2}"/>'
        )
        lines = words.split("\n")
        for number, line in enumerate(lines):
            offset = (number - (len(lines) - 1) / 2) * (size + 2)
            self.text(x, y + offset + size / 3, line, size, built=built, bold=new)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: int = 13,
        anchor: str = "middle",
        built: bool = True,
        bold: bool = False,
    ) -> None:
        kind = "" if built else "q"
        self.shapes.append(text(x, y, words, anchor=anchor, size=size, kind=kind, bold=bold))

    def arrow(self, *points: tuple[float, float], built: bool = True, head: bool = True) -> None:
        """A line through the points, with an arrow head at the last one."""
        path = "M" + " L".join(f"{x:g} {y:g}" for x, y in points)
        tip = f' marker-end="url(#{self.arrow_head})"' if head and built else ""
        self.shapes.append(f'<path class="arrow{"" if built else " later"}" d="{path}"{tip}/>')

    def frame(self, x: float, y: float, width: float, height: float, built: bool = True) -> None:
        """A pale panel behind things that belong together."""
        self.shapes.append(
            f'<rect class="panel{"" if built else " later"}" x="{x:g}" y="{y:g}" '
            f'width="{width:g}" height="{height:g}" rx="12"/>'
        )

    def picture(self, words: str) -> Picture:
        head = (
            f'<defs><marker id="{self.arrow_head}" viewBox="0 0 10 10" refX="9" refY="5" '
            'markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
            '<path class="ink" d="M0 0 L10 5 L0 10 z"/></marker></defs>'
        )
        return drawing(self.width, self.height, words, [head, *self.shapes])
