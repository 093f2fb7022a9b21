"""Sine and cosine positions: what their size, their length and their frequencies look like."""

from dataclasses import dataclass

import numpy as np

from course_utils.figures.chart import Line, heat_table, line_chart
from course_utils.figures.drawing import drawing, text
from course_utils.figures.numbers import shown
from course_utils.figures.picture import Picture

from .view import Explorer, menu

SIZES = (4, 8, 16, 32, 64)
LENGTHS = (8, 16, 32, 64)
BASES = (10, 100, 1000, 10000)


@dataclass(frozen=True)
class PositionState:
    """The positions that are drawn, and the one that is selected."""

    size: int = 16
    length: int = 32
    base: int = 10000
    pair: int = 0
    position: int = 5

    def __post_init__(self) -> None:
        if self.size % 2 or not 2 <= self.size <= 128:
            raise ValueError("The size must be even, from 2 to 128: a sine and a cosine each.")
        if not 2 <= self.length <= 128 or self.base <= 1:
            raise ValueError("The length must be from 2 to 128, and the base must be above 1.")
        # A choice that no longer exists moves to the last one that does.
        object.__setattr__(self, "pair", min(self.pair, self.size // 2 - 1))
        object.__setattr__(self, "position", min(self.position, self.length - 1))

    @property
    def turns(self) -> np.ndarray:
        """Each position as points on size / 2 circles, one per frequency."""
        speed = self.base ** -np.linspace(0, 1, self.size // 2, endpoint=False)
        return np.exp(1j * np.outer(np.arange(self.length), speed))

    @property
    def values(self) -> np.ndarray:
        """Sine and cosine in turn, a row for each position."""
        turns = self.turns
        return np.dstack([turns.imag, turns.real]).reshape(self.length, self.size)

    @property
    def similarity(self) -> np.ndarray:
        """The cosine between the chosen position and each other one."""
        turns = self.turns
        return (turns @ turns[self.position].conj()).real / (self.size / 2)

    @property
    def wavelength(self) -> float:
        """The number of positions after which the chosen pair wraps around."""
        return float(2 * np.pi * self.base ** (2 * self.pair / self.size))


def _heat_map(state: PositionState) -> str:
    values = state.values
    wide, high = max(7, 280 / state.size), max(6, 250 / state.length)
    left, top = 46, 26
    parts = [text(left, 16, "positions (down) by dimensions (across)")]
    for t, row in enumerate(values.tolist()):
        for j, value in enumerate(row):
            parts.append(
                f'<rect class="{"p" if value >= 0 else "m"}" style="--a:{abs(value):.2f}" '
                f'x="{left + j * wide:.1f}" y="{top + t * high:.1f}" '
                f'width="{wide + 0.3:.1f}" height="{high + 0.3:.1f}"/>'
            )
    ticks = sorted({0, state.length // 4, state.length // 2, 3 * state.length // 4})
    for t in [*ticks, state.length - 1]:
        parts.append(
            text(left - 6, top + (t + 0.5) * high + 4, str(t), anchor="end", size=11, kind="q")
        )
    bottom = top + state.length * high
    for j in (0, state.size // 2, state.size - 1):
        parts.append(
            text(left + (j + 0.5) * wide, bottom + 15, str(j), anchor="middle", size=11, kind="q")
        )
    width = state.size * wide
    parts.append(
        f'<rect class="frame" stroke-width="2" x="{left}" '
        f'y="{top + state.position * high:.1f}" width="{width:.1f}" height="{high:.1f}"/>'
    )
    parts.append(
        f'<rect class="frame" stroke-dasharray="3 2" x="{left + 2 * state.pair * wide:.1f}" '
        f'y="{top}" width="{2 * wide:.1f}" height="{bottom - top:.1f}"/>'
    )
    alternative = (
        f"Heat map of {state.length} positions by {state.size} dimensions. The first dimensions "
        "change from position to position, the last hardly at all."
    )
    return drawing(left + width + 12, bottom + 24, alternative, parts).html


def _over_positions(state: PositionState, lines: list[Line], y_label: str, words: str) -> str:
    ends = np.unique(np.linspace(0, state.length - 1, 5).astype(int)).tolist()
    return line_chart(
        lines,
        x_ticks=[(t, str(t)) for t in ends],
        y_ticks=[-1, 0, 1],
        x_label="position",
        y_label=y_label,
        words=words,
        width=420,
        height=190,
        mark=(state.position, ""),
    ).html


def position_picture(state: PositionState) -> Picture:
    """The heat map, two waves, and how alike positions are."""
    values, similar, times = state.values, state.similarity, list(range(state.length))
    first, wavelength = 2 * state.pair, shown(state.wavelength, 1)
    waves = _over_positions(
        state,
        [
            Line(f"dim {first}", times, values[:, first].tolist()),
            Line(f"dim {first + 1}", times, values[:, first + 1].tolist(), dash="6 4"),
        ],
        f"pair {state.pair}: sine and cosine",
        f"Dimensions {first} and {first + 1}: a sine and a cosine that wrap around every "
        f"{wavelength} positions.",
    )
    nearest = [t for t in np.argsort(-similar).tolist() if t != state.position][:2]
    near = _over_positions(
        state,
        [Line("cosine", times, similar.tolist(), series=3)],
        f"similarity to position {state.position}",
        f"Similarity to position {state.position}: 1 at itself, next highest at positions "
        f"{nearest[0]} and {nearest[-1]}.",
    )
    dims = min(state.size, 16)
    row = heat_table(
        f"position {state.position}"
        + (f", first {dims} of {state.size} dimensions" if state.size > dims else ""),
        np.round(values[state.position, :dims], 2),
        columns=[str(j) for j in range(dims)],
    )
    slowest = shown(2 * np.pi * state.base ** (1 - 2 / state.size), 0)
    words = (
        f"Pair {state.pair} wraps around every {wavelength} positions; the slowest pair every "
        f"{slowest}. Position {state.position} is most like positions {nearest[0]} and "
        f"{nearest[-1]}."
    )
    body = (
        f'<div class="cw-row">{_heat_map(state)}<div>{waves}{near}</div></div>'
        f'{row}<p class="cw-quiet">{words}</p>'
    )
    return Picture(body, f"Position explorer. {words}")


class PositionExplorer(Explorer):
    title = "Position explorer"

    def show(self, state: PositionState) -> None:
        # The menus offer what the new size and length have.
        self._quiet = True
        pairs, positions = list(range(state.size // 2)), list(range(state.length))
        for name, options in (("pair", pairs), ("position", positions)):
            control = self._controls[name]
            if list(control.options) != options:
                control.options = options
                control.value = getattr(state, name)
        super().show(state)


def position_explorer(
    size: int = 16, length: int = 32, base: int = 10000, pair: int = 0, position: int = 5
) -> PositionExplorer:
    """Show sine and cosine positions: a heat map, two waves, and how alike positions are."""
    state = PositionState(size, length, base, pair, position)
    controls = {
        "size": menu("Size d", sorted({*SIZES, size}), "120px", size),
        "length": menu("Length", sorted({*LENGTHS, length}), "130px", length),
        "base": menu("Base", sorted({*BASES, base}), "140px", base),
        "pair": menu("Pair", list(range(size // 2)), "110px", state.pair),
        "position": menu("Position", list(range(length)), "140px", state.position),
    }
    return PositionExplorer(state, controls, position_picture)
