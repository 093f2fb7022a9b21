"""Plots and tables for the notebook on the bottleneck."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from .chart import Line, line_chart
from .picture import Picture, from_figure

DASHES = ("", "6 4", "2 3", "8 3 2 3", "1 5")  # so that no line is told by its colour alone


def curves(
    lines: Mapping[str, Sequence[float]],
    x: Sequence[float],
    *,
    x_label: str,
    y_label: str,
    title: str = "",
    logarithmic: bool = False,
    mark: tuple[float, str] | None = None,
) -> Picture:
    """Lines over one axis with their names beside them; `mark` draws a vertical line with a name."""
    return line_chart(
        [
            Line(name, list(x)[: len(ys)], list(ys), dash=DASHES[i % len(DASHES)], markers=True)
            for i, (name, ys) in enumerate(lines.items())
        ],
        x_label=x_label,
        y_label=y_label,
        title=title,
        log=logarithmic,
        mark=mark,
        width=480,
        height=270,
    )


def tables_of_positions(
    one_hot: Sequence[Sequence[float]], sines: Sequence[Sequence[float]]
) -> Picture:
    """The two tables of positions side by side, a row for each position."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
    for axis, table, title in zip(axes, (one_hot, sines), ("one-hot", "sine"), strict=True):
        shown = axis.imshow(table, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
        axis.set(title=f"{title}: {len(table)} x {len(table[0])}", xlabel="column")
    axes[0].set_ylabel("position t")
    figure.colorbar(shown, ax=axes, label="value")
    return from_figure(
        figure,
        f"Two tables with a row for each of {len(one_hot)} positions. One-hot: a diagonal of ones. "
        "Sine: columns in pairs, fast waves on the left, ever slower ones to the right.",
    )


def spread(values: Sequence[float]) -> str:
    """Several runs as text: the mean, and from the lowest to the highest."""
    mean = sum(values) / len(values)
    if len(values) == 1:
        return f"{mean:.0%}"
    return f"{mean:.0%} ({min(values):.0%} to {max(values):.0%})"


def table(cells: Mapping[tuple[str, str], Sequence[float]], corner: str) -> Picture:
    """Runs as a table: `cells[row, column]` holds the accuracies of several seeds."""
    rows = list(dict.fromkeys(row for row, _ in cells))
    columns = list(dict.fromkeys(column for _, column in cells))
    head = "".join(
        f"<th scope='col' style='text-align:left'>{escape(column)}</th>" for column in columns
    )
    body, words = [], []
    for row in rows:
        values = [
            spread(cells[row, column]) if (row, column) in cells else "" for column in columns
        ]
        data = "".join(f"<td style='text-align:left'>{value}</td>" for value in values)
        body.append(f"<tr><th scope='row' style='text-align:left'>{escape(row)}</th>{data}</tr>")
        words.append(
            f"{row}: " + ", ".join(f"{c} {v}" for c, v in zip(columns, values, strict=True) if v)
        )
    markup = (
        f"<table><thead><tr><th scope='col' style='text-align:left'>{escape(corner)}</th>"
        f"{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    )
    return Picture(markup, "\n".join(words))
