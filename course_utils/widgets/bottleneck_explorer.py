"""How much of a text comes through a message of n bits, below the line that no code can cross."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from course_utils.figures.chart import Line, line_chart
from course_utils.figures.picture import Picture
from course_utils.figures.theme import SERIES
from course_utils.recurrent.capacity import ChannelPoint, bound, keep_the_first

from .view import Explorer, menu, tick

ALL = 0
ONE_MESSAGE, ATTENTION = "one message", "attention"
PER_SYMBOL = 8  # with attention, the runs with this many bits per symbol are drawn


@dataclass(frozen=True)
class Measured:
    """One length: the mean over seeds and its spread."""

    length: int
    mean: float
    low: float
    high: float
    seeds: int


@dataclass(frozen=True, eq=False)
class BottleneckState:
    """Measured runs, and which of them are drawn; `bits` is 0 for all sizes of the message."""

    runs: tuple[ChannelPoint, ...]
    bits: int = ALL
    steps: int = 1000
    attention: bool = False

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError("There are no runs to draw: the list is empty.")

    @property
    def sizes(self) -> list[int]:
        return sorted({run.bits for run in self.runs if run.model == ONE_MESSAGE})

    @property
    def drawn_sizes(self) -> list[int]:
        return self.sizes if self.bits == ALL else [self.bits]

    @property
    def lengths(self) -> list[int]:
        return sorted({run.length for run in self.runs})

    def measured(self, model: str, bits: int) -> list[Measured]:
        """The share of right symbols for each length, over all seeds."""
        found = []
        for length in self.lengths:
            key = (model, bits, length, self.steps)
            shares = [
                r.share_right for r in self.runs if (r.model, r.bits, r.length, r.steps) == key
            ]
            if shares:
                found.append(Measured(length, mean(shares), min(shares), max(shares), len(shares)))
        return found


def _learned(name: str, points: Sequence[Measured], series: int) -> Line:
    return Line(
        name,
        [point.length for point in points],
        [point.mean for point in points],
        series,
        markers=True,
        low=[point.low for point in points],
        high=[point.high for point in points],
    )


def _lines(state: BottleneckState) -> list[Line]:
    """Per size of the message: what was learned, and dashed above it what is possible."""
    dense = [n / 4 for n in range(4 * state.lengths[0], 4 * state.lengths[-1] + 1)]
    lines = []
    for bits in state.drawn_sizes:
        series = state.sizes.index(bits) % SERIES + 1
        lines.append(_learned(f"{bits} bits", state.measured(ONE_MESSAGE, bits), series))
        line = [bound(bits / length) for length in dense]
        lines.append(Line(f"line, {bits} bits", dense, line, series, "6 4"))
        if state.bits != ALL:
            whole = [keep_the_first(bits, length) for length in state.lengths]
            lines.append(Line("keep the first", state.lengths, whole, SERIES, "2 3"))
    if state.attention:
        points = state.measured(ATTENTION, PER_SYMBOL)
        lines.append(_learned("attention", points, len(state.sizes) % SERIES + 1))
    return [line for line in lines if line.xs]


def bottleneck_picture(state: BottleneckState) -> Picture:
    """The share of right symbols against the length of the text."""
    lines = _lines(state)
    learned = [line for line in lines if line.markers]
    if not learned:
        words = "No run fits this choice."
        return Picture(f"<p>{words}</p>", f"Bottleneck explorer. {words}")
    told = "; ".join(
        f"{line.label}: {line.ys[0]:.0%} of {line.xs[0]} symbols, {line.ys[-1]:.0%} of {line.xs[-1]}"
        for line in learned
    )
    seeds = {
        point.seeds for bits in state.drawn_sizes for point in state.measured(ONE_MESSAGE, bits)
    }
    note = (
        f"{state.steps:,} steps; seeds per point: {max(seeds, default=1)}, bands from the lowest to "
        "the highest. Dashed: the line that no code can cross."
    )
    if state.attention:
        note += f" With attention there is a message of {PER_SYMBOL} bits for each symbol."
    words = f"{told}. {note}"
    chart = line_chart(
        lines,
        x_ticks=[(length, str(length)) for length in state.lengths],
        y_ticks=[0, 0.25, 0.5, 0.75, 1],
        x_label="symbols in the text",
        y_label="share of symbols right",
        words=words,
        width=600,
        height=330,
    )
    return Picture(f'{chart.html}<p class="cw-quiet">{note}</p>', f"Bottleneck explorer. {words}")


class BottleneckExplorer(Explorer):
    title = "Bottleneck explorer"


def bottleneck_explorer(runs: Sequence[ChannelPoint]) -> BottleneckExplorer:
    """Draw how many symbols come through messages of several sizes; `load_channel()` gives runs."""
    state = BottleneckState(tuple(runs))
    sizes = [("all sizes", ALL), *((f"{bits} bits", bits) for bits in state.sizes)]
    lengths = sorted({run.steps for run in runs})
    controls = {
        "bits": menu("Message", sizes, "190px", ALL),
        "steps": menu("Steps", [(f"{n:,}", n) for n in lengths], "170px", lengths[0]),
        "attention": tick("with attention", "160px"),
    }
    return BottleneckExplorer(
        BottleneckState(tuple(runs), steps=lengths[0]), controls, bottleneck_picture
    )
