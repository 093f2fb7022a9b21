"""The picture of a training run: a progress bar over a loss curve, in one output that updates."""

from __future__ import annotations

import html
import math
import sys
import time
from typing import Any

from tqdm import tqdm

Record = dict[str, float]

TRAIN_COLOUR = "#3b7dd8"
VALID_COLOUR = "#d9730d"
WIDTH, HEIGHT = 560, 190
LEFT, RIGHT, TOP, BOTTOM = 52, 130, 20, 34


def in_notebook() -> bool:
    """True where a Jupyter kernel (Lab, Colab, papermill) shows what is displayed."""
    ipython = sys.modules.get("IPython")
    if ipython is None:
        return False
    shell = ipython.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None


class LiveCurve:
    """Shows how far a run is: one HTML output in a notebook, a tqdm bar in a terminal.

    The notebook view is a single display that is updated in place and holds no widget, so the
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
            self._show_html(self._page(records, done, note))

    def _page(self, records: list[Record], done: float, note: str) -> str:
        meter = tqdm.format_meter(
            done,
            self.epochs,
            time.perf_counter() - self.started,
            ncols=72,
            unit="epoch",
        )
        return (
            f'<pre style="margin:0 0 4px 0">{html.escape(meter)}\n{html.escape(note)}</pre>'
            f"{curve_svg(records, self.epochs)}"
        )

    def _show_html(self, page: str) -> None:
        from IPython.display import HTML, display

        if self.handle is None:
            self.handle = display(HTML(page), display_id=True)
        else:
            self.handle.update(HTML(page))


def curve_svg(records: list[Record], epochs: int) -> str:
    """The loss curves as SVG, with their last values written beside them."""
    lines = [("training", "train_loss", TRAIN_COLOUR, "")]
    if any("val_loss" in record for record in records):
        lines.append(("validation", "val_loss", VALID_COLOUR, "6 3"))
    values = [
        record[key]
        for _, key, _, _ in lines
        for record in records
        if math.isfinite(record.get(key, math.nan))
    ]
    if not values:
        return ""
    highest = max(values)
    top = highest * 1.05 if highest > 0 else 1.0
    bottom = min(0.0, min(values))
    last_epoch = max(epochs, int(records[-1]["epoch"]))

    def x(epoch: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (epoch - 1) / max(last_epoch - 1, 1)

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (top - value) / (top - bottom)

    described = "; ".join(
        f"{name} loss {records[-1].get(key, math.nan):.4g}" for name, key, _, _ in lines
    )
    label = html.escape(f"Loss after epoch {int(records[-1]['epoch'])} of {epochs}: {described}")
    parts = [
        f'<svg role="img" aria-label="{label}" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" style="max-width:100%" font-family="sans-serif" '
        f'font-size="12" fill="currentColor"><title>{label}</title>'
    ]
    for tick in (bottom, (top + bottom) / 2, top):
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" '
            f'stroke="currentColor" stroke-opacity="0.2"/>'
            f'<text x="{LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.2g}</text>'
        )
    for tick in sorted({1, (1 + last_epoch) // 2, last_epoch}):
        parts.append(
            f'<text x="{x(tick):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{tick}</text>'
        )
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 3}" text-anchor="middle">epoch</text>'
    )
    ends = []
    for name, key, colour, dash in lines:
        points = [
            (x(record["epoch"]), y(record[key]))
            for record in records
            if math.isfinite(record.get(key, math.nan))
        ]
        if not points:
            continue
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" '
            f'stroke-dasharray="{dash}"/>'
        )
        parts.append(
            f'<circle cx="{points[-1][0]:.1f}" cy="{points[-1][1]:.1f}" r="3" fill="{colour}"/>'
        )
        ends.append((points[-1], f"{name} {records[-1].get(key, math.nan):.3g}", colour))
    parts.extend(_end_labels(ends))
    parts.append("</svg>")
    return "".join(parts)


def _end_labels(ends: list[tuple[tuple[float, float], str, str]]) -> list[str]:
    """The labels at the ends of the curves, pushed apart upwards so that none covers another."""
    labels = []
    lowest_allowed = math.inf
    for (px, py), text, colour in sorted(ends, key=lambda end: -end[0][1]):
        at = min(py + 4, lowest_allowed)
        labels.append(f'<text x="{px + 8:.1f}" y="{at:.1f}" fill="{colour}">{text}</text>')
        lowest_allowed = at - 14
    return labels
