"""The picture of a training run: a progress bar above a loss curve, in one output that updates."""

from __future__ import annotations

import math
import sys
import time
from html import escape
from typing import Any

from tqdm import tqdm

from course_utils.figures.chart import Line, line_chart
from course_utils.figures.picture import Picture

Record = dict[str, float]

LOSSES = (("training", "train_loss"), ("validation", "val_loss"))


def in_notebook() -> bool:
    """True where a Jupyter kernel (Lab, Colab, papermill) shows what is displayed."""
    ipython = sys.modules.get("IPython")
    if ipython is None:
        return False
    shell = ipython.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None


class LiveCurve:
    """Shows how far a run has got: one HTML output in a notebook, a tqdm bar in a terminal.

    The notebook view is a single display that is updated in place and contains no widget, so the
    saved notebook keeps the last picture and nothing else, whoever ran it.
    """

    refresh_seconds = 0.4

    def __init__(self, epochs: int, show: bool) -> None:
        self.epochs = epochs
        self.started = time.perf_counter()
        self.last_drawn = 0.0
        self.bar: tqdm | None = None
        self.handle: Any = None
        self.in_notebook = show and in_notebook()
        self.in_terminal = show and not self.in_notebook
        if self.in_terminal:
            self.bar = tqdm(total=epochs, unit="epoch", file=sys.stderr, leave=True)

    def step(self, records: list[Record], part_of_epoch: float, note: str) -> None:
        """Report a step inside an epoch; drawn only a few times a second."""
        now = time.perf_counter()
        if now - self.last_drawn < self.refresh_seconds:
            return
        self.last_drawn = now
        self._draw(records, part_of_epoch, note)

    def finish(self, records: list[Record], note: str) -> None:
        """Draw the final state; the output stays."""
        self._draw(records, 0.0, note)
        if self.bar is not None:
            self.bar.close()

    def _draw(self, records: list[Record], part_of_epoch: float, note: str) -> None:
        done = round(min(len(records) + part_of_epoch, float(self.epochs)), 1)
        done = int(done) if done == int(done) else done
        if self.bar is not None:
            self.bar.n = done
            self.bar.set_postfix_str(note, refresh=True)
        elif self.in_notebook:
            self._show(self._picture(records, done, note))

    def _picture(self, records: list[Record], done: float, note: str) -> Picture:
        meter = tqdm.format_meter(
            done,
            self.epochs,
            time.perf_counter() - self.started,
            ncols=72,
            unit="epoch",
        )
        chart = loss_chart(records, self.epochs)
        state = f"{meter}\n{note}"
        return Picture(f"<pre>{escape(state)}</pre>{chart.html}", f"{state}\n{chart.words}".strip())

    def _show(self, picture: Picture) -> None:
        from IPython.display import display

        if self.handle is None:
            self.handle = display(picture, display_id=True)
        else:
            self.handle.update(picture)


def loss_chart(records: list[Record], epochs: int) -> Picture:
    """The loss curves with their last values beside them; empty until the first epoch has ended."""
    if not records:
        return Picture("", "")
    done = [record["epoch"] for record in records]
    curves = {name: [record.get(key, math.nan) for record in records] for name, key in LOSSES}
    curves = {name: ys for name, ys in curves.items() if any(map(math.isfinite, ys))}
    last = max(epochs, int(done[-1]))
    told = "; ".join(f"{name} loss {ys[-1]:.4g}" for name, ys in curves.items())
    return line_chart(
        [
            Line(f"{name} {ys[-1]:.3g}", done, ys, dash=dash)
            for (name, ys), dash in zip(curves.items(), ("", "6 3"))
        ],
        x_ticks=[(epoch, str(epoch)) for epoch in sorted({1, (1 + last) // 2, last})],
        x_label="epoch",
        y_label="loss",
        words=f"Loss after epoch {int(done[-1])} of {epochs}: {told}",
        width=480,
        height=210,
    )


def history_picture(records: list[Record]) -> Picture:
    """The loss curves of a finished run, and beside them what else the validation measured."""
    losses = loss_chart(records, int(records[-1]["epoch"]))
    known = {"epoch", "seconds", *(key for _, key in LOSSES)}
    others = [key for key in records[-1] if key not in known]
    if not others:
        return losses
    epochs = [record["epoch"] for record in records]
    measures = line_chart(
        [
            Line(
                key.removeprefix("val_"), epochs, [record.get(key, math.nan) for record in records]
            )
            for key in others
        ],
        x_label="epoch",
        y_label="on the validation set",
        width=420,
        height=210,
    )
    return Picture(
        f'<div class="cw-row">{losses.html}{measures.html}</div>',
        f"{losses.words}. {measures.words}",
    )
