"""Tables and drawings as HTML and SVG text, with their text alternatives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from .numbers import shown, weight


def matrix_table(
    caption: str,
    values: np.ndarray,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    *,
    probabilities: bool = False,
    mark_largest: bool = False,
) -> str:
    """A matrix as an HTML table: the number in each cell, its size as a tint."""
    values = np.atleast_2d(values)
    write: Callable[[float], str] = weight if probabilities else shown
    finite = values[np.isfinite(values)]
    top = 1.0 if probabilities else float(np.abs(finite).max(initial=0.0)) or 1.0
    alone = (values == values.max(axis=1, keepdims=True)).sum(axis=1) == 1
    largest = np.where(alone, values.argmax(axis=1), -1) if mark_largest else None
    head = ""
    if columns:
        corner = "<td style='border:0'></td>" if rows else ""
        cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
        head = f"<thead><tr>{corner}{cells}</tr></thead>"
    lines = []
    for i, row in enumerate(values.tolist()):
        cells = [f'<th scope="row">{escape(rows[i])}</th>'] if rows else []
        for j, value in enumerate(row):
            if value == -np.inf:
                cells.append("<td>−∞</td>")
                continue
            kind = "p" if value >= 0 else "m"
            best = " best" if largest is not None and largest[i] == j and value > 0 else ""
            cells.append(
                f'<td class="{kind}{best}" style="--a:{abs(value) / top:.2f}">{write(value)}</td>'
            )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><caption>{caption}</caption>{head}<tbody>{''.join(lines)}</tbody></table>"


def chip(kind: str, text: str) -> str:
    """A short message on its own background; kind is good, bad or note."""
    return f'<span class="cw-chip cw-{kind}">{escape(text)}</span>'


def svg(width: float, height: float, alternative: str, parts: Sequence[str]) -> str:
    """A drawing with the sentence that a screen reader reads in its place."""
    return (
        f'<svg role="img" aria-label="{escape(alternative)}" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 12, **more) -> str:
    """One line of text in a drawing."""
    extra = "".join(f' {name.rstrip("_")}="{value}"' for name, value in more.items())
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{extra}>'
        f"{escape(words)}</text>"
    )


def axes(
    box: tuple[float, float, float, float],
    x_ticks: Sequence[tuple[float, str]],
    y_ticks: Sequence[tuple[float, str]],
    x_label: str,
    y_label: str,
) -> list[str]:
    """Frame, grid lines, tick labels and names of a plot; ticks are (place in pixels, label)."""
    left, top, right, bottom = box
    parts = []
    for y, label in y_ticks:
        parts.append(f'<path class="grid" d="M{left:.1f} {y:.1f}H{right:.1f}"/>')
        parts.append(text(left - 6, y + 4, label, anchor="end", size=11, class_="q"))
    for x, label in x_ticks:
        parts.append(f'<path class="axis" d="M{x:.1f} {bottom:.1f}v4"/>')
        parts.append(text(x, bottom + 17, label, anchor="middle", size=11, class_="q"))
    parts.append(f'<path class="axis" d="M{left:.1f} {top:.1f}V{bottom:.1f}H{right:.1f}"/>')
    parts.append(text((left + right) / 2, bottom + 34, x_label, anchor="middle"))
    parts.append(text(left, top - 8, y_label))
    return parts


def line(
    points: Sequence[tuple[float, float]], series: int, width: float = 2, dash: str = ""
) -> str:
    """A curve through points, in the colour of its series."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline class="s{series}" stroke-width="{width}"{dashes} points="{path}"/>'


def marker(x: float, y: float, series: int) -> str:
    """A point whose shape differs from series to series, so that colour is not needed."""
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


@dataclass(frozen=True)
class Curve:
    """A curve of a plot; low and high, where given, are the edges of its spread."""

    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    series: int
    dash: str = ""
    markers: bool = False
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


def _spread_labels(wanted: list[float], gap: float, top: float, bottom: float) -> list[float]:
    """Places near the wanted ones, at least a gap apart, so that labels never overlap."""
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


def plot(
    curves: Sequence[Curve],
    *,
    x_ticks: Sequence[tuple[float, str]],
    y_ticks: Sequence[float],
    x_label: str,
    y_label: str,
    alternative: str,
    width: float = 460,
    height: float = 250,
    cursor: float | None = None,
) -> str:
    """Curves with their names at the right end; y_ticks span the vertical axis."""
    longest = max((len(curve.label) for curve in curves), default=0)
    left, top, right, bottom = 48.0, 26.0, width - 16 - 7 * longest, height - 44
    xs = [x for curve in curves for x in curve.xs] + [x for x, _ in x_ticks]
    first, last = min(xs), max(xs)
    low, high = min(y_ticks), max(y_ticks)

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - first) / ((last - first) or 1)
        up = (min(max(y, low), high) - low) / ((high - low) or 1)
        return left + across * (right - left), bottom - up * (bottom - top)

    parts = axes(
        (left, top, right, bottom),
        [(place(x, low)[0], label) for x, label in x_ticks],
        [(place(first, y)[1], shown(y)) for y in y_ticks],
        x_label,
        y_label,
    )
    if cursor is not None:
        x = place(cursor, low)[0]
        parts.append(
            f'<path class="axis" stroke-dasharray="3 3" d="M{x:.1f} {top:.1f}V{bottom:.1f}"/>'
        )
    for curve in curves:
        if curve.low is not None and curve.high is not None:
            upper = [place(x, y) for x, y in zip(curve.xs, curve.high)]
            lower = [place(x, y) for x, y in zip(curve.xs, curve.low)]
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in upper + lower[::-1])
            parts.append(f'<polygon class="b{curve.series}" points="{points}"/>')
    ends = []
    for curve in curves:
        points = [place(x, y) for x, y in zip(curve.xs, curve.ys)]
        parts.append(line(points, curve.series, dash=curve.dash))
        if curve.markers:
            parts += [marker(x, y, curve.series) for x, y in points]
        ends.append(points[-1])
    heights = _spread_labels([y for _, y in ends], 15, top, bottom)
    for curve, (x, _), y in zip(curves, ends, heights):
        parts.append(text(x + 8, y + 4, curve.label, size=12, class_=f"t{curve.series}"))
    return svg(width, height, alternative, parts)
