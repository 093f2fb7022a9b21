"""What the temperature and the square root of d do to weights and to their gradient."""

from dataclasses import dataclass

import ipywidgets as widgets
import numpy as np

from course_utils.editor.numbers import BadNumber, exact, parse_number
from course_utils.figures.chart import Line, bar_chart, heat_table, line_chart
from course_utils.figures.numbers import shown, weight
from course_utils.figures.picture import Picture, chip

from .view import FULL_LABEL, Explorer, menu, tick

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
TEMPERATURES = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 10.0)


@dataclass(frozen=True)
class SoftmaxState:
    """Dot products of vectors of size d, and what is done to them before the softmax.

    A dot product of d pairs of numbers with variance 1 has a spread of the square root of d. So
    `scores` are typed for d = 1, and grow with the square root of d.
    """

    scores: str = "2, 1, 0.5, -1"
    size: int = 64
    scaled: bool = True
    temperature: float = 1.0

    def __post_init__(self) -> None:
        typed = self.scores.split(",")
        if not 2 <= len(typed) <= 8:
            raise ValueError("Type 2 to 8 scores with commas between them, as in 2, 1, 0.5.")
        for place, word in enumerate(typed, 1):
            try:
                parse_number(word, -1000, 1000)
            except BadNumber as problem:
                raise ValueError(f"Score {place} {problem}") from None
        if not 1 <= self.size <= 4096 or not 0.01 <= self.temperature <= 100:
            raise ValueError("d goes from 1 to 4096 and the temperature from 0.01 to 100.")

    @property
    def base(self) -> np.ndarray:
        return np.array([parse_number(word) for word in self.scores.split(",")])

    def entering(self, size: int | None = None, scaled: bool | None = None) -> np.ndarray:
        """The scores that enter the softmax."""
        size = self.size if size is None else size
        scaled = self.scaled if scaled is None else scaled
        return self.base if scaled else self.base * np.sqrt(size)

    def weights(self, size: int | None = None, scaled: bool | None = None) -> np.ndarray:
        heights = self.entering(size, scaled) / self.temperature
        heights = np.exp(heights - heights.max())
        return heights / heights.sum()

    def gradient(self, size: int | None = None, scaled: bool | None = None) -> np.ndarray:
        """How each weight (row) changes with each score that enters the softmax (column)."""
        found = self.weights(size, scaled)
        return (np.diag(found) - np.outer(found, found)) / self.temperature

    @property
    def entropy(self) -> float:
        """In bits; two to this power is the number of keys that share the weight."""
        found = self.weights()
        return float(-(found * np.log2(np.where(found > 0, found, 1))).sum() + 0.0)


def _bars(state: SoftmaxState) -> str:
    found = state.weights().tolist()
    told = ", ".join(f"key {i} {weight(value)}" for i, value in enumerate(found, 1))
    names = [f"k{i}" for i in range(1, len(found) + 1)]
    return bar_chart(
        names, found, title="weights", words=f"Weights: {told}.", write=weight, highest=1.0
    ).html


def _gradient_lines(state: SoftmaxState) -> str:
    xs = np.log2(SIZES).tolist()
    with_it, without = (
        [float(np.abs(state.gradient(size, scaled)).max()) for size in SIZES]
        for scaled in (True, False)
    )
    return line_chart(
        [
            Line("divided by √d", xs, with_it, markers=True),
            Line("not divided", xs, without, dash="6 4", markers=True),
        ],
        x_ticks=[(float(np.log2(size)), str(size)) for size in SIZES[::2]],
        x_label="d, the size of queries and keys",
        y_label="largest gradient of the softmax",
        words=f"Largest gradient against d. At d = 512 it is {shown(with_it[-1])} with the "
        f"division and {shown(without[-1])} without.",
        mark=(float(np.log2(state.size)), ""),
    ).html


def softmax_picture(state: SoftmaxState) -> Picture:
    """Weights, gradients and every step of the scores."""
    keys = [f"k{i + 1}" for i in range(len(state.base))]
    largest = float(np.abs(state.gradient()).max())
    steps = np.stack([state.base * np.sqrt(state.size), state.entering()])
    tables = heat_table("scores, step by step", steps, ["dot products", "into softmax"], keys)
    gradient = heat_table("gradient: weight (row) by score (column)", state.gradient(), keys, keys)
    if largest < 0.001:
        verdict = chip("bad", "The softmax is saturated: almost no gradient reaches the scores.")
    elif largest < 0.05:
        verdict = chip("note", "The softmax is close to saturated: the gradient is small.")
    else:
        verdict = chip("good", "A useful gradient reaches the scores.")
    facts = (
        f"Largest weight {weight(float(state.weights().max()))}; entropy {shown(state.entropy)} "
        f"bits, as if {shown(2**state.entropy, 2)} keys shared the weight; "
        f"largest gradient {shown(largest)}."
    )
    body = (
        f"<p>{verdict}</p>"
        f'<div class="cw-row">{_bars(state)}{_gradient_lines(state)}</div>'
        f'<div class="cw-row">{tables}{gradient}</div><p class="cw-quiet">{facts}</p>'
    )
    return Picture(body, f"Softmax explorer. {facts}")


class SoftmaxExplorer(Explorer):
    title = "Softmax explorer"


def softmax_explorer(
    scores: str = "2, 1, 0.5, -1", size: int = 64, scaled: bool = True, temperature: float = 1.0
) -> SoftmaxExplorer:
    """Show what the temperature and the division by the square root of d do to the weights."""
    state = SoftmaxState(scores, size, scaled, temperature)
    controls = {
        "scores": widgets.Text(
            description="Scores at d = 1",
            value=scores,
            continuous_update=False,
            style=FULL_LABEL,
            layout=widgets.Layout(width="280px"),
        ),
        "size": menu("d", sorted({*SIZES, size}), "110px", size),
        "scaled": tick("divide by √d", "120px", scaled),
        "temperature": menu(
            "Temperature",
            [(exact(value), value) for value in sorted({*TEMPERATURES, temperature})],
            "180px",
            temperature,
        ),
    }
    return SoftmaxExplorer(state, controls, softmax_picture)
