"""A small chart kit in SVG and HTML: lines, bars and heat tables, for light and dark pages.

Every chart is a picture with words. What needs more (images, clouds of points, several panels) is
drawn with matplotlib.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape

import numpy as np

from .drawing import drawing, text
from .numbers import shown
from .picture import Picture
from .theme import SERIES

LETTER = 7.0  # the width of a letter, roughly


@dataclass(frozen=True)
class Line:
    """One line of a chart; low and high, if given, are the edges of its spread.

    `series` (1 to 6) decides its colour and the shape of its markers; 0 takes the line's place.
    """

    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    series: int = 0
    dash: str = ""
    markers: bool = False
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


@dataclass(frozen=True)
class _Area:
    """Where the lines are drawn, in pixels, and the numbers at its edges."""

    left: float
    top: float
    right: float
    bottom: float
    first: float
    last: float
    low: float
    high: float
    log: bool

    def across(self, x: float) -> float:
        share = (x - self.first) / ((self.last - self.first) or 1)
        return self.left + share * (self.right - self.left)

    def up(self, y: float) -> float:
        value, low, high = min(max(y, self.low), self.high), self.low, self.high
        if self.log:
            value, low, high = math.log(value), math.log(low), math.log(high)
        return self.bottom - (value - low) / ((high - low) or 1) * (self.bottom - self.top)

    def points(self, xs: Sequence[float], ys: Sequence[float]) -> list[tuple[float, float]]:
        """Only what can be drawn: a run may have no value yet, or an infinite one."""
        return [
            (self.across(x), self.up(y))
            for x, y in zip(xs, ys)
            if math.isfinite(y) and (y > 0 or not self.log)
        ]


def line_chart(
    lines: Sequence[Line],
    *,
    x_label: str,
    y_label: str,
    x_ticks: Sequence[tuple[float, str]] = (),
    y_ticks: Sequence[float] = (),
    title: str = "",
    words: str = "",
    log: bool = False,
    mark: tuple[float, str] | None = None,
    span: tuple[float, float, str] | None = None,
    width: float = 460,
    height: float = 250,
) -> Picture:
    """Lines with their names at their right ends.

    Ticks that are not given are round numbers. `mark` is a vertical line at x with a name, `span`
    a pale band from one x to another with a name. `words` replaces the text alternative.
    """
    lines = [
        line if line.series else replace(line, series=place % SERIES + 1)
        for place, line in enumerate(lines)
    ]
    y_ticks = y_ticks or _ticks_for([y for line in lines for y in line.ys], log)
    xs = [x for line in lines for x in line.xs]
    x_ticks = x_ticks or [(x, _number(x)) for x in _ticks_inside(xs)]
    xs += [x for x, _ in x_ticks]
    longest = max((len(line.label) for line in lines), default=0)
    area = _Area(
        left=48,
        top=44 if title else 26,
        right=width - 16 - LETTER * longest,
        bottom=height - 44,
        first=min(xs),
        last=max(xs),
        low=min(y_ticks),
        high=max(y_ticks),
        log=log,
    )
    parts = [text(area.left, 16, title, bold=True)] if title else []
    parts += _span(area, span) if span else []
    parts += _axes(area, x_ticks, y_ticks, x_label, y_label)
    parts += _mark(area, mark) if mark else []
    for line in lines:
        parts += _band(area, line)
    for line in lines:
        parts += _line(area, line)
    parts += _names(area, lines)
    return drawing(width, height, words or line_words(lines, x_label, y_label), parts)


def line_words(lines: Sequence[Line], x_label: str, y_label: str) -> str:
    """A chart in words: where each line begins and where it ends."""
    told = []
    for line in lines:
        ys = [y for y in line.ys if math.isfinite(y)]
        ends = f"from {_number(ys[0])} to {_number(ys[-1])}" if ys else "no value"
        told.append(f"{line.label}: {ends}")
    return f"{y_label} against {x_label}. " + "; ".join(told) + "."


def _number(value: float) -> str:
    return f"{value:.3g}".replace("e-0", "e-").replace("-", "−")


def round_numbers(low: float, high: float, *, inside: bool = False, most: int = 6) -> list[float]:
    """A few round numbers from low to high, either around them or inside their range."""
    reach = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(reach / most))
    step = next(m * power for m in (1, 2, 5, 10, 20) if reach / (m * power) <= most - 1)
    down, up = (math.ceil, math.floor) if inside else (math.floor, math.ceil)
    # The small shift keeps 0.30000000000000004 / 0.1 from going one step too far.
    shift = -1e-9 if inside else 1e-9
    return [
        round(i * step, 12) for i in range(down(low / step + shift), up(high / step - shift) + 1)
    ]


def _ticks_inside(values: Sequence[float]) -> list[float]:
    ticks = round_numbers(min(values), max(values), inside=True)
    # There is no epoch 1.5: an axis of whole numbers has only whole ticks.
    whole = all(float(value).is_integer() for value in values)
    return [tick for tick in ticks if not whole or float(tick).is_integer()]


def _ticks_for(values: Sequence[float], log: bool) -> list[float]:
    drawn = [y for y in values if math.isfinite(y) and (y > 0 or not log)] or [1.0]
    if not log:
        return round_numbers(min(0.0, min(drawn)), max(drawn) or 1.0)
    powers = range(math.floor(math.log10(min(drawn))), math.ceil(math.log10(max(drawn))) + 1)
    fine = [m * 10.0**power for power in powers for m in (1, 2, 5)]
    below = max([tick for tick in fine if tick <= min(drawn)], default=fine[0])
    above = min([tick for tick in fine if tick >= max(drawn)], default=fine[-1])
    kept = [tick for tick in fine if below <= tick <= above]
    return kept if 2 <= len(kept) <= 7 else [10.0**power for power in powers]


def _axes(
    area: _Area,
    x_ticks: Sequence[tuple[float, str]],
    y_ticks: Sequence[float],
    x_label: str,
    y_label: str,
) -> list[str]:
    parts = []
    for value in y_ticks:
        y = area.up(value)
        parts.append(f'<path class="grid" d="M{area.left:.1f} {y:.1f}H{area.right:.1f}"/>')
        parts.append(text(area.left - 6, y + 4, _number(value), anchor="end", size=11, kind="q"))
    for value, label in x_ticks:
        x = area.across(value)
        parts.append(f'<path class="axis" d="M{x:.1f} {area.bottom:.1f}v4"/>')
        parts.append(text(x, area.bottom + 17, label, anchor="middle", size=11, kind="q"))
    frame = f"M{area.left:.1f} {area.top:.1f}V{area.bottom:.1f}H{area.right:.1f}"
    parts.append(f'<path class="axis" d="{frame}"/>')
    middle = (area.left + area.right) / 2
    parts.append(text(middle, area.bottom + 34, x_label, anchor="middle"))
    parts.append(text(area.left, area.top - 8, y_label))
    return parts


def _mark(area: _Area, mark: tuple[float, str]) -> list[str]:
    x, name = area.across(mark[0]), mark[1]
    path = f"M{x:.1f} {area.top:.1f}V{area.bottom:.1f}"
    parts = [f'<path class="axis" stroke-dasharray="3 3" d="{path}"/>']
    if name:
        # On the side with more room.
        anchor, shift = ("start", 4) if x < (area.left + area.right) / 2 else ("end", -4)
        parts.append(text(x + shift, area.bottom - 6, name, anchor=anchor, size=11, kind="q halo"))
    return parts


def _span(area: _Area, span: tuple[float, float, str]) -> list[str]:
    left, right, name = area.across(span[0]), area.across(span[1]), span[2]
    return [
        f'<rect class="span" x="{left:.1f}" y="{area.top:.1f}" width="{right - left:.1f}" '
        f'height="{area.bottom - area.top:.1f}"/>',
        text(left + 4, area.bottom - 6, name, size=11, kind="q"),
    ]


def _band(area: _Area, line: Line) -> list[str]:
    if line.low is None or line.high is None:
        return []
    edge = area.points(line.xs, line.high) + area.points(line.xs, line.low)[::-1]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in edge)
    return [f'<polygon class="b{line.series}" points="{points}"/>']


def _line(area: _Area, line: Line) -> list[str]:
    points = area.points(line.xs, line.ys)
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dash = f' stroke-dasharray="{line.dash}"' if line.dash else ""
    drawn = f'<polyline class="s{line.series}" stroke-width="2"{dash} points="{path}"/>'
    # A single point has no line to be seen by.
    marked = points if line.markers or len(points) == 1 else []
    return [drawn, *(_marker(x, y, line.series) for x, y in marked)]


def _marker(x: float, y: float, series: int) -> str:
    """A point with a different shape for each series, so that colour is not needed."""
    r = 4
    shapes = {
        1: f'<circle class="d1" cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>',
        2: f'<rect class="d2" x="{x - r:.1f}" y="{y - r:.1f}" width="{2 * r}" height="{2 * r}"/>',
        3: f'<path class="d3" d="M{x:.1f} {y - 5:.1f}l5 9h-10z"/>',
        4: f'<path class="d4" d="M{x:.1f} {y - 5.5:.1f}l5.5 5.5l-5.5 5.5l-5.5 -5.5z"/>',
        5: f'<path class="d5" d="M{x:.1f} {y + 5:.1f}l5 -9h-10z"/>',
        6: f'<path class="s6" stroke-width="2.5" d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"/>',
    }
    return shapes[series]


def _names(area: _Area, lines: Sequence[Line]) -> list[str]:
    ends = [(line, area.points(line.xs, line.ys)[-1:]) for line in lines]
    seen = [(line, *points[0]) for line, points in ends if points]
    heights = _apart([y for _, _, y in seen], 15, area.top, area.bottom)
    return [
        text(x + 8, y + 4, line.label, kind=f"t{line.series} halo")
        for (line, x, _), y in zip(seen, heights)
    ]


def _apart(wanted: Sequence[float], gap: float, top: float, bottom: float) -> list[float]:
    """Positions near the wanted ones, at least a gap apart, so that labels never overlap."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    placed = [0.0] * len(wanted)
    last = top - gap
    for i in order:
        last = placed[i] = max(wanted[i], last + gap)
    # Push back up what went over the lower edge.
    last = bottom + gap
    for i in reversed(order):
        last = placed[i] = min(placed[i], last - gap)
    return placed


def bar_chart(
    names: Sequence[str],
    values: Sequence[float],
    *,
    title: str,
    words: str,
    x_label: str = "",
    write: Callable[[float], str] = shown,
    highest: float | None = None,
    step: float = 62,
) -> Picture:
    """Upright bars with their numbers above them; a bar of `highest` fills the chart."""
    top, base = 44.0, 174.0
    full = highest or max(values, default=0) or 1
    width = 28 + step * len(values)
    parts = [text(14, 16, title), f'<path class="axis" d="M14 {base}H{width - 14:.1f}"/>']
    for i, (name, value) in enumerate(zip(names, values)):
        x, tall = 14 + step * (i + 0.5), (base - top) * value / full
        parts.append(
            f'<rect class="d1" x="{x - step / 3:.1f}" y="{base - tall:.1f}" '
            f'width="{2 * step / 3:.1f}" height="{max(tall, 1):.1f}"/>'
        )
        parts.append(text(x, base - tall - 5, write(value), anchor="middle"))
        parts.append(text(x, base + 16, name, anchor="middle", kind="q"))
    if x_label:
        parts.append(text(width / 2, base + 34, x_label, anchor="middle"))
    return drawing(width, base + (42 if x_label else 26), words, parts)


def row_chart(
    names: Sequence[str],
    values: Sequence[float],
    *,
    title: str,
    words: str,
    write: Callable[[float], str] = shown,
    highest: float = 1.0,
) -> Picture:
    """Bars from left to right, one row per name, with their numbers after them."""
    left, row, full = 20 + 7.5 * max(map(len, names)), 22, 260
    parts = [text(8, 16, title)]
    for i, (name, value) in enumerate(zip(names, values)):
        y, length = 28 + i * row, full * min(abs(value) / highest, 1)
        parts.append(text(left - 7, y + 13, name, anchor="end"))
        parts.append(
            f'<rect class="d1" x="{left:.1f}" y="{y}" width="{max(length, 1):.1f}" height="16"/>'
        )
        parts.append(text(left + length + 6, y + 13, write(value)))
    width = max(left + full + 70, 16 + LETTER * len(title))
    return drawing(width, 36 + row * len(names), words, parts)


def heat_table(
    caption: str,
    values: np.ndarray | Sequence[Sequence[float]],
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    *,
    write: Callable[[float], str] = shown,
    texts: Sequence[Sequence[str]] = (),
    highest: float | None = None,
    mark_largest: bool = False,
) -> str:
    """A matrix as an HTML table: the number in each cell, its size as a tint.

    The caption may hold markup. `texts` replaces what is written in the cells.
    """
    table = np.atleast_2d(np.asarray(values, dtype=float))
    finite = table[np.isfinite(table)]
    top = highest or float(np.abs(finite).max(initial=0.0)) or 1.0
    lines = []
    for i, row in enumerate(table.tolist()):
        written = texts[i] if texts else [write(value) for value in row]
        best = _largest(row) if mark_largest else None
        name = f'<th scope="row">{escape(rows[i])}</th>' if rows else ""
        cells = (
            _heat_cell(value, words, value / top, j == best)
            for j, (value, words) in enumerate(zip(row, written))
        )
        lines.append(f"<tr>{name}{''.join(cells)}</tr>")
    head = ""
    if columns:
        corner = "<td style='border:0'></td>" if rows else ""
        names = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
        head = f"<thead><tr>{corner}{names}</tr></thead>"
    return f"<table><caption>{caption}</caption>{head}<tbody>{''.join(lines)}</tbody></table>"


def _largest(row: Sequence[float]) -> int | None:
    """The position of the largest value, if it is above 0 and the only one of its size."""
    top = max(row)
    return row.index(top) if top > 0 and row.count(top) == 1 else None


def _heat_cell(value: float, words: str, share: float, best: bool) -> str:
    if not math.isfinite(value):
        return f"<td>{escape(words)}</td>"
    kind = ("p" if value >= 0 else "m") + (" best" if best else "")
    return f'<td class="{kind}" style="--a:{abs(share):.2f}">{escape(words)}</td>'
