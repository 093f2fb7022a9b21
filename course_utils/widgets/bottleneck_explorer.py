"""How accuracy falls with length when one hidden state must hold the whole source."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from course_utils.figures.chart import Line, heat_table, line_chart
from course_utils.figures.picture import Picture
from course_utils.figures.theme import SERIES

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


def _drawn(state: BottleneckState) -> list[tuple[str, int, bool, list[Point]]]:
    """The lines that have points: name, number of the hidden size, attention, points."""
    both = len(state.attentions) == 2
    every = [
        (_line_name(hidden, attention, both), number, attention, state.points(hidden, attention))
        for attention in state.attentions
        for number, hidden in enumerate(state.hidden_sizes)
    ]
    return [entry for entry in every if entry[-1]]


def _cell(point: Point | None) -> str:
    if point is None:
        return "–"
    spread = f" ± {(point.high - point.low) / 2:.2f}" if point.seeds > 1 else ""
    return f"{point.mean:.2f}{spread}"


def _table(state: BottleneckState) -> str:
    names, means, texts = [], [], []
    for name, _, _, points in _drawn(state):
        by_length = {point.length: point for point in points}
        found = [by_length.get(length) for length in state.lengths]
        names.append(name)
        means.append([point.mean if point else np.nan for point in found])
        texts.append([_cell(point) for point in found])
    return heat_table(
        "accuracy: hidden size (row) by length (column), mean ± half the spread over seeds",
        means,
        names,
        [str(length) for length in state.lengths],
        texts=texts,
        highest=1.0,
    )


def _chart(state: BottleneckState, measure: str, words: str) -> str:
    both = len(state.attentions) == 2
    lines = [
        Line(
            name,
            [point.length for point in points],
            [point.mean for point in points],
            number % SERIES + 1,
            "" if attention or not both else "6 4",
            markers=True,
            low=[point.low for point in points],
            high=[point.high for point in points],
        )
        for name, number, attention, points in _drawn(state)
    ]
    return line_chart(
        lines,
        x_ticks=[(length, str(length)) for length in state.lengths],
        y_ticks=[0, 0.25, 0.5, 0.75, 1],
        x_label="length of the source",
        y_label=f"{measure} accuracy, {state.cell}; a line for each hidden size",
        words=words,
        width=560,
        height=320,
    ).html


def bottleneck_picture(state: BottleneckState) -> Picture:
    """Accuracy against length as lines and as a table."""
    drawn = _drawn(state)
    if not drawn:
        words = "No run fits this choice."
        return Picture(f"<p>{words}</p>", f"Bottleneck explorer. {words}")
    told = [
        f"hidden {name}: {points[0].mean:.2f} at length {points[0].length}, "
        f"{points[-1].mean:.2f} at length {points[-1].length}"
        for name, _, _, points in drawn
    ]
    measure = "validation" if state.measure == "valid_accuracy" else "training"
    words = f"{state.cell}, {measure} accuracy: " + "; ".join(told) + "."
    seeds = sorted({point.seeds for *_, points in drawn for point in points})
    few, most = seeds[0], seeds[-1]
    count = f"{few} to {most} seeds" if few < most else f"{most} seed{'s' * (most > 1)}"
    note = f"Bands: smallest to largest of {count}."
    if len(state.attentions) == 2:
        note = f"Dashed lines: without attention. {note}"
    chart = _chart(state, measure, words)
    body = f'{chart}<p class="cw-quiet">{note}</p>{_table(state)}'
    return Picture(body, f"Bottleneck explorer. {words}")


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
