"""Attention maps: which source token each target token looks at, with the number in each cell."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from course_utils.figures.chart import row_chart
from course_utils.figures.drawing import drawing, text
from course_utils.figures.numbers import weight
from course_utils.figures.picture import Picture

from .view import Explorer, button, menu

MEAN, ALL_HEADS, ALL_ROWS = -1, -2, -1


def _as_array(weights) -> np.ndarray:
    # A torch tensor knows how to leave its graph and its device; torch itself is not needed here.
    if hasattr(weights, "detach"):
        weights = weights.detach().cpu().double().numpy()
    array = np.array(weights, dtype=float)
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3 or 0 in array.shape:
        raise ValueError(
            "weights must be [target, source] or [heads, target, source], "
            f"not of shape {list(array.shape)}: take one sentence of the batch."
        )
    if not np.isfinite(array).all():
        raise ValueError("weights has a NaN or an infinite number: look at the masked rows.")
    return array


@dataclass(frozen=True, eq=False)
class MapState:
    """Weights [heads, target, source], the tokens, and what is looked at."""

    weights: np.ndarray
    source: tuple[str, ...]
    target: tuple[str, ...]
    head_names: tuple[str, ...]
    title: str = ""
    head: int = 0
    row: int = ALL_ROWS

    def __post_init__(self) -> None:
        heads, rows, columns = self.weights.shape
        if (rows, columns) != (len(self.target), len(self.source)):
            raise ValueError(
                f"weights has {rows} rows and {columns} columns; there are {len(self.target)} "
                f"target and {len(self.source)} source tokens."
            )
        if len(self.head_names) != heads:
            raise ValueError(f"weights has {heads} heads, but {len(self.head_names)} have names.")

    def of_head(self, head: int) -> np.ndarray:
        return self.weights.mean(axis=0) if head == MEAN else self.weights[head]

    def name_of(self, head: int) -> str:
        if head == MEAN:
            return "mean of all heads"
        return self.head_names[head] if len(self.head_names) > 1 else ""

    @property
    def heads_shown(self) -> list[int]:
        return list(range(len(self.head_names))) if self.head == ALL_HEADS else [self.head]

    def strongest(self, head: int) -> list[str]:
        """For each row: where it looks most."""
        found = self.of_head(head)
        best = found.argmax(axis=1)
        return [
            f"{token} looks most at {self.source[j]} ({weight(found[i, j])})"
            for i, (token, j) in enumerate(zip(self.target, best))
        ]


def _clipped(token: str, longest: int = 14) -> str:
    return token if len(token) <= longest else token[: longest - 1] + "…"


def _grid(state: MapState, head: int) -> str:
    found = state.of_head(head)
    rows, columns = found.shape
    source, target = [*map(_clipped, state.source)], [*map(_clipped, state.target)]
    small = columns > 20
    wide, high, font = (32, 22, 10) if small else (42, 26, 12)
    left = 14 + 7.5 * max(map(len, target))
    longest = max(map(len, source))
    slanted = longest * 7.5 > wide
    top = 30 + (longest * 5.6 if slanted else 16)
    tail = longest * 5 if slanted else 8
    name = state.name_of(head)
    heading = " · ".join(part for part in (state.title, name) if part)
    parts = [text(8, 16, heading)] if heading else []
    for j, token in enumerate(source):
        x = left + (j + 0.5) * wide
        anchor = "start" if slanted else "middle"
        parts.append(text(x, top - 7, token, anchor=anchor, slanted=slanted))
    best = found.argmax(axis=1)
    for i, row in enumerate(found.tolist()):
        y = top + i * high
        parts.append(text(left - 7, y + high / 2 + 4, target[i], anchor="end"))
        for j, value in enumerate(row):
            x = left + j * wide
            parts.append(
                f'<rect class="p" style="--a:{min(abs(value), 1):.2f}" x="{x:.1f}" y="{y:.1f}" '
                f'width="{wide}" height="{high}"/>'
            )
            number = f"{value:.2f}"
            parts.append(text(x + wide / 2, y + high / 2 + 4, number, anchor="middle", size=font))
        parts.append(
            f'<rect class="frame" stroke-width="1.5" x="{left + best[i] * wide + 1:.1f}" '
            f'y="{y + 1:.1f}" width="{wide - 2}" height="{high - 2}"/>'
        )
    parts.append(
        f'<rect class="axis" x="{left:.1f}" y="{top:.1f}" width="{columns * wide}" '
        f'height="{rows * high}"/>'
    )
    words = f"Attention map{' ' + heading if heading else ''}: {'; '.join(state.strongest(head))}."
    width = max(left + columns * wide + tail, 16 + 7 * len(heading))
    return drawing(width, top + rows * high + 8, words, parts).html


def _row(state: MapState, head: int, row: int) -> str:
    values = state.of_head(head)[row].tolist()
    name = state.name_of(head)
    heading = f"{_clipped(state.target[row])} looks at" + (f" ({name})" if name else "")
    told = ", ".join(f"{token} {weight(value)}" for token, value in zip(state.source, values))
    return row_chart(
        [*map(_clipped, state.source)],
        values,
        title=heading,
        words=f"{heading}: {told}.",
        write=weight,
    ).html


def map_picture(state: MapState) -> Picture:
    """A map for each head that is shown, or one row of it as bars."""
    heads = state.heads_shown
    if state.row == ALL_ROWS:
        drawings = [_grid(state, head) for head in heads]
    else:
        drawings = [_row(state, head, state.row) for head in heads]
    body = f'<div class="cw-row">{"".join(drawings)}</div>'
    if state.row != ALL_ROWS:
        said = " ".join(
            f"<b>[{escape(token)}]</b>" if i == state.row else escape(token)
            for i, token in enumerate(state.target)
        )
        body = f"<p>{said}</p>" + body
    words = "; ".join(f"{state.name_of(h)} {'; '.join(state.strongest(h))}".strip() for h in heads)
    return Picture(body, f"Attention map {state.title}: {words}.")


class AttentionMap(Explorer):
    title = "Attention map"

    def __init__(self, state: MapState):
        rows = [("all rows", ALL_ROWS)]
        rows += [(f"{i + 1} {_clipped(token)}", i) for i, token in enumerate(state.target)]
        controls = {"row": menu("Show", rows, "200px", state.row)}
        if len(state.head_names) > 1:
            heads = [(name, i) for i, name in enumerate(state.head_names)]
            heads += [("mean of all heads", MEAN), ("all, side by side", ALL_HEADS)]
            controls["head"] = menu("Head", heads, "210px", state.head)
        back, forth = button("Previous row", "100px"), button("Next row", "90px")
        back.on_click(lambda _: self._step(-1))
        forth.on_click(lambda _: self._step(+1))
        super().__init__(state, controls, map_picture, [back, forth])

    def _step(self, by: int) -> None:
        """Through the rows and, between the last and the first, all of them."""
        count = len(self.state.target)
        self._controls["row"].value = (self.state.row + 1 + by) % (count + 1) - 1


def _state(weights, source, target, heads, title, head) -> MapState:
    array = _as_array(weights)
    if isinstance(heads, int):
        raise ValueError('heads takes names, one per head, as in ["head 1", "head 2"].')
    names = tuple(map(str, heads or (f"head {i + 1}" for i in range(len(array)))))
    state = MapState(array, tuple(map(str, source)), tuple(map(str, target)), names, title, head)
    if not -2 <= head < len(names):
        raise ValueError(f"head is {head}; there are heads 0 to {len(names) - 1}.")
    return state


def attention_map(
    weights,
    source: Sequence[str],
    target: Sequence[str],
    heads: Sequence[str] | None = None,
    title: str = "",
    head: int = 0,
) -> AttentionMap:
    """Show weights [target, source] or [heads, target, source] next to the tokens.

    weights may be a tensor, an array or lists. head: which one to start with; -1 is the mean of
    all heads, -2 shows all side by side.
    """
    return AttentionMap(_state(weights, source, target, heads, title, head))


def attention_map_html(
    weights,
    source: Sequence[str],
    target: Sequence[str],
    heads: Sequence[str] | None = None,
    title: str = "",
    head: int = ALL_HEADS,
) -> Picture:
    """The same picture without controls, which needs no kernel."""
    return map_picture(_state(weights, source, target, heads, title, head))
