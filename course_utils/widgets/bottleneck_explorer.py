"""How accuracy falls with length when one hidden state must hold the whole source."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .numbers import shown
from .picture import Curve, plot
from .theme import SERIES
from .view import Explorer, menu

_FIELDS = ("cell", "attention", "hidden", "length", "seed", "train_accuracy", "valid_accuracy")


@dataclass(frozen=True)
class Point:
    """One hidden size at one length: the mean over seeds and its spread."""

    length: int
    mean: float
    low: float
    high: float
    seeds: int


@dataclass(frozen=True, eq=False)
class BottleneckState:
    """Measured runs, and which of them are drawn."""

    records: tuple[Mapping, ...]
    cell: str
    attention: str = "both"
    measure: str = "valid_accuracy"

    def __post_init__(self) -> None:
        if not self.records:
            raise ValueError("There are no runs to draw: grid_data is empty.")
        for number, record in enumerate(self.records, 1):
            missing = [name for name in _FIELDS if name not in record]
            if missing:
                raise ValueError(f"Run {number} has no {' and no '.join(missing)}.")

    @property
    def cells(self) -> list[str]:
        return sorted({record["cell"] for record in self.records})

    @property
    def attentions(self) -> list[bool]:
        wanted = {"with": [True], "without": [False], "both": [True, False]}[self.attention]
        there = {bool(record["attention"]) for record in self.records if self._is_cell(record)}
        return [value for value in wanted if value in there]

    @property
    def hidden_sizes(self) -> list[int]:
        return sorted({record["hidden"] for record in self.records if self._is_cell(record)})

    @property
    def lengths(self) -> list[int]:
        return sorted({record["length"] for record in self.records if self._is_cell(record)})

    def _is_cell(self, record: Mapping) -> bool:
        return record["cell"] == self.cell

    def points(self, hidden: int, attention: bool) -> list[Point]:
        """Accuracy against length, over all seeds."""
        points = []
        for length in self.lengths:
            found = [
                float(record[self.measure])
                for record in self.records
                if self._is_cell(record)
                and record["hidden"] == hidden
                and bool(record["attention"]) is attention
                and record["length"] == length
            ]
            if found:
                points.append(
                    Point(length, float(np.mean(found)), min(found), max(found), len(found))
                )
        return points


def _line_name(hidden: int, attention: bool, both: bool) -> str:
    return f"{hidden}{' attention' if attention else ' no attention'}" if both else f"{hidden}"


def _table(state: BottleneckState) -> str:
    head = "".join(f'<th scope="col">{length}</th>' for length in state.lengths)
    rows = []
    for attention in state.attentions:
        for hidden in state.hidden_sizes:
            by_length = {point.length: point for point in state.points(hidden, attention)}
            if not by_length:
                continue
            cells = []
            for length in state.lengths:
                point = by_length.get(length)
                if point is None:
                    cells.append("<td>–</td>")
                    continue
                spread = f" ± {(point.high - point.low) / 2:.2f}" if point.seeds > 1 else ""
                cells.append(
                    f'<td class="p" style="--a:{min(max(point.mean, 0), 1):.2f}">'
                    f"{point.mean:.2f}{spread}</td>"
                )
            name = _line_name(hidden, attention, len(state.attentions) == 2)
            rows.append(f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>')
    return (
        "<table><caption>accuracy: hidden size (row) by length (column), mean ± half the spread "
        f"over seeds</caption><thead><tr><td style='border:0'></td>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def bottleneck_picture(state: BottleneckState) -> tuple[str, str]:
    """The picture as HTML, and the same in words."""
    curves, sentences = [], []
    both = len(state.attentions) == 2
    for attention in state.attentions:
        for number, hidden in enumerate(state.hidden_sizes):
            points = state.points(hidden, attention)
            if not points:
                continue
            name = _line_name(hidden, attention, both)
            curves.append(
                Curve(
                    name,
                    [point.length for point in points],
                    [point.mean for point in points],
                    number % SERIES + 1,
                    "" if attention or not both else "6 4",
                    markers=True,
                    low=[point.low for point in points],
                    high=[point.high for point in points],
                )
            )
            first, last = points[0], points[-1]
            sentences.append(
                f"hidden {name}: {first.mean:.2f} at length {first.length}, "
                f"{last.mean:.2f} at length {last.length}"
            )
    measure = "validation" if state.measure == "valid_accuracy" else "training"
    words = f"{state.cell}, {measure} accuracy: " + "; ".join(sentences) + "."
    if not curves:
        body = "<p>No run fits this choice.</p>"
        return body, "Bottleneck explorer. No run fits this choice."
    drawing = plot(
        curves,
        x_ticks=[(length, str(length)) for length in state.lengths],
        y_ticks=[0, 0.25, 0.5, 0.75, 1],
        x_label="length of the source",
        y_label=f"{measure} accuracy, {state.cell}; a line for each hidden size",
        alternative=words,
        width=640,
        height=320,
    )
    seeds = {
        p.seeds for a in state.attentions for h in state.hidden_sizes for p in state.points(h, a)
    }
    note = f"Bands: smallest to largest of {shown(min(seeds))} to {shown(max(seeds))} seeds."
    if len(seeds) == 1:
        note = f"Bands: smallest to largest of {max(seeds)} seed{'s' if max(seeds) > 1 else ''}."
    if both:
        note = f"Dashed lines: without attention. {note}"
    body = f'{drawing}<p class="cw-quiet">{note}</p>{_table(state)}'
    return body, f"Bottleneck explorer. {words}"


class BottleneckExplorer(Explorer):
    title = "Bottleneck explorer"


def bottleneck_explorer(grid_data: Sequence[Mapping]) -> BottleneckExplorer:
    """Draw accuracy against length for each hidden size.

    grid_data is a list of runs, each a dict with cell, attention (True or False), hidden, length,
    seed, train_accuracy and valid_accuracy (accuracies from 0 to 1).
    """
    records = tuple(grid_data)
    cell = records[0].get("cell", "") if records else ""
    state = BottleneckState(records, cell)
    choices = ["both", "without", "with"]
    controls = {
        "cell": menu("Cell", state.cells, "150px", cell),
        "attention": menu("Attention", choices, "180px", state.attention),
        "measure": menu(
            "Accuracy on",
            [("validation", "valid_accuracy"), ("training", "train_accuracy")],
            "200px",
            state.measure,
        ),
    }
    return BottleneckExplorer(state, controls, bottleneck_picture)
