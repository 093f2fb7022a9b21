"""Plots and tables for the notebook on the bottleneck, each with a text alternative."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from course_utils.figures.transformer import Picture
from course_utils.recurrent.bottleneck import spread

LOOKS = [  # colour, line and marker differ, so that no line is told by its colour alone
    {"color": "#1b6ca8", "linestyle": "-", "marker": "o"},
    {"color": "#c4520a", "linestyle": "--", "marker": "s"},
    {"color": "#3a7d34", "linestyle": ":", "marker": "^"},
    {"color": "#7b4ea3", "linestyle": "-.", "marker": "D"},
    {"color": "#5a5a5a", "linestyle": "-", "marker": "x"},
]


def described(figure: Figure, words: str) -> Picture:
    """A figure as a picture with a text alternative, shown once."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=110, bbox_inches="tight", facecolor="white")
    plt.close(figure)
    data = base64.b64encode(file.getvalue()).decode()
    alternative = html.escape(words, quote=True)
    image = f'<img alt="{alternative}" src="data:image/png;base64,{data}" style="max-width:100%">'
    return Picture(image, words)


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
    figure, axis = plt.subplots(figsize=(6.4, 3.2))
    for (name, values), look in zip(lines.items(), LOOKS, strict=False):
        axis.plot(list(x)[: len(values)], values, label=name, markersize=4, **look)
    axis.set(xlabel=x_label, ylabel=y_label, title=title)
    if logarithmic:
        axis.set_yscale("log")
    else:
        axis.set_ylim(bottom=0, top=max(1.02, axis.get_ylim()[1]))
    if mark is not None:
        axis.axvline(mark[0], color="#777777", linewidth=1)
        axis.annotate(
            mark[1], (mark[0], axis.get_ylim()[0]), xytext=(4, 5), textcoords="offset points",
            fontsize=8, color="#555555",
        )  # fmt: skip
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1.01, 0.5))
    parts = [
        f"{name}: from {values[0]:.3g} to {values[-1]:.3g}"
        for name, values in lines.items()
        if len(values)
    ]
    return described(figure, f"{y_label} against {x_label}. " + "; ".join(parts) + ".")


def tables_of_positions(one_hot, sines) -> Picture:
    """The two tables of positions side by side, a row for each position."""
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.4))
    for axis, table, title in zip(axes, (one_hot, sines), ("one-hot", "sine"), strict=True):
        shown = axis.imshow(table, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
        axis.set(title=f"{title}: {len(table)} x {len(table[0])}", xlabel="column")
    axes[0].set_ylabel("position t")
    figure.colorbar(shown, ax=axes, label="value")
    return described(
        figure,
        f"Two tables with a row for each of {len(one_hot)} positions. One-hot: a diagonal of ones. "
        "Sine: columns in pairs, fast waves on the left, ever slower ones to the right.",
    )


def table(cells: Mapping[tuple[str, str], Sequence[float]], corner: str) -> Picture:
    """Runs as a table: `cells[row, column]` holds the accuracies of several seeds."""
    rows = list(dict.fromkeys(row for row, _ in cells))
    columns = list(dict.fromkeys(column for _, column in cells))
    head = "".join(f"<th scope='col'>{html.escape(column)}</th>" for column in columns)
    body, words = [], []
    for row in rows:
        values = [
            spread(cells[row, column]) if (row, column) in cells else "" for column in columns
        ]
        data = "".join(f"<td style='text-align:left'>{value}</td>" for value in values)
        body.append(
            f"<tr><th scope='row' style='text-align:left'>{html.escape(row)}</th>{data}</tr>"
        )
        words.append(
            f"{row}: " + ", ".join(f"{c} {v}" for c, v in zip(columns, values, strict=True) if v)
        )
    markup = (
        f"<table><thead><tr><th scope='col' style='text-align:left'>{html.escape(corner)}</th>"
        f"{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    )
    return Picture(markup, "\n".join(words))
