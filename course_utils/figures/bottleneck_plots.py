"""Plots and tables for the notebook on the bottleneck, and for other comparisons of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from .chart import Line, line_chart
from .picture import Picture

DASHES = ("", "6 4", "2 3", "8 3 2 3", "1 5")  # so that colour is not needed to tell lines apart

Cells = Mapping[tuple[str, str], Sequence[float]]  # [row, column]: one share per seed


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
    """Lines over one axis, with their names beside them; `mark` draws a named vertical line."""
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


def steps_chart(points: Sequence[Any], schedule: str) -> Picture:
    """The share of right characters against the steps of training, one line per hidden size.

    Each point has the fields schedule, hidden, steps and share_right, as in `load_steps()`.
    """
    lines: list[Line] = []
    for hidden in sorted({point.hidden for point in points}):
        by_steps: dict[int, list[float]] = {}
        for point in points:
            if (point.schedule, point.hidden) == (schedule, hidden):
                by_steps.setdefault(point.steps, []).append(point.share_right)
        steps = sorted(by_steps)
        shares = [by_steps[n] for n in steps]
        lines.append(
            Line(
                f"D = {hidden}",
                steps,
                [sum(found) / len(found) for found in shares],
                dash=DASHES[len(lines) % len(DASHES)],
                markers=True,
                low=[min(found) for found in shares],
                high=[max(found) for found in shares],
            )
        )
    ticks = sorted({x for line in lines for x in line.xs if x >= 1000})
    return line_chart(
        lines,
        x_label="steps of training",
        y_label="characters right, six in a text",
        x_ticks=[(n, f"{n:,}") for n in ticks],
        y_ticks=[0, 0.25, 0.5, 0.75, 1],
        width=560,
        height=300,
    )


def spread(values: Sequence[float]) -> str:
    """Several runs as text: their mean and, if they differ, the lowest and the highest."""
    mean, low, high = (f"{x:.0%}" for x in (sum(values) / len(values), min(values), max(values)))
    return mean if low == high else f"{mean} ({low} to {high})"


def table(cells: Cells, corner: str) -> Picture:
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


def results(cells: Cells, stored: Cells, corner: str, budget: str) -> Picture:
    """A table of what was just measured; in the smoke budget, of stored figures, labelled as such.

    `budget` is the notebook's, or "stored" if the notebook trains nothing for this table.
    """
    if budget in ("smoke", "stored"):
        seeds = max(len(values) for values in stored.values())
        note = f"Stored figures from the course's own runs, {seeds} seeds each."
        if budget == "smoke":
            note += " The smoke budget trains too little for figures of your own."
        cells = stored
    else:
        seeds = max(len(values) for values in cells.values())
        note = f"The models that you just trained, {seeds} seed{'' if seeds == 1 else 's'} each."
    shown = table(cells, corner)
    return Picture(f"<p>{note}</p>{shown.html}", f"{note}\n{shown.words}")
