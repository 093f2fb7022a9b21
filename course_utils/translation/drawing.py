"""Attention diagrams and the comparison of mechanisms, each with a description in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from course_utils.data.corpus import Encoded
from course_utils.figures.picture import Picture, from_figure
from course_utils.translation.decoding import Translation
from course_utils.translation.results import DOCUMENT, OTHER_REPORT, Result, summarise

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_attention(
    source: Sequence[str],
    target: Sequence[str],
    weights,
    *,
    title: str = "",
    gold: Iterable[tuple[int, int]] = (),
) -> Picture:
    """One row per written word and one column per source word; brighter cells mean more attention.

    Weights of about a tenth or more are printed in their cells. `gold` pairs get a frame.
    """
    values = np.asarray(weights, dtype=float)
    if values.shape != (len(target), len(source)):
        raise ValueError(
            f"The weights have the shape {values.shape}, but there are {len(target)} target words "
            f"and {len(source)} source words."
        )
    heading = f"Attention diagram {title}".strip()
    words = f"{heading}\n{describe_attention(source, target, values)}"
    return from_figure(_attention_figure(source, target, values, title, gold), words)


def _attention_figure(
    source: Sequence[str],
    target: Sequence[str],
    values: np.ndarray,
    title: str = "",
    gold: Iterable[tuple[int, int]] = (),
) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    size = (1.6 + 0.46 * len(source), 1.3 + 0.34 * len(target))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    axes.imshow(values, cmap="gray", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(source)), source, rotation=50, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(len(target)), target)
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    axes.set_xticks(np.arange(len(source) - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(len(target) - 1) + 0.5, minor=True)
    axes.grid(which="minor", color="#4a4a4a", linewidth=0.5)
    axes.tick_params(which="minor", length=0)
    for (row, column), value in np.ndenumerate(values):
        if value >= 0.095:
            colour = "black" if value > 0.5 else "white"
            text = f"{value:.1f}".lstrip("0") if value < 0.95 else "1"
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=8)
    for column, row in gold:
        axes.add_patch(
            Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, fill=False, ec="#e8871e", lw=1.6)
        )
    if title:
        axes.set_title(title, fontsize=10, loc="left")
    return figure


def describe_attention(source: Sequence[str], target: Sequence[str], weights) -> str:
    """The same diagram in words, for those who can't see it."""
    lines = []
    for word, row in zip(target, np.asarray(weights, dtype=float), strict=True):
        order = [place for place in np.argsort(-row, kind="stable")[:2] if row[place] >= 0.005]
        seen = ", ".join(f"{source[place]} {row[place]:.2f}" for place in order)
        lines.append(f"{word}: {seen or 'nothing'}")
    return "\n".join(lines)


def save_diagrams(
    translations: Sequence[Translation],
    data: Encoded,
    places: Sequence[int],
    *,
    split: str = "test",
    folder: str | Path = "examples",
) -> list[Path]:
    """Draw the translations at these positions of a split and save them as pictures."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    sources = data.source_tokens(split)
    paths = []
    for place in places:
        one = translations[place]
        if one.weights is None:
            raise ValueError(
                "These translations have no attention weights, so there is nothing to draw."
            )
        target = [*one.words, "</s>"][: len(one.weights)]
        path = folder / f"{split}_{place:04d}.png"
        _attention_figure(sources[place], target, np.asarray(one.weights)).savefig(path, dpi=110)
        paths.append(path)
    return paths


def comparison_plot(results: Sequence[Result]) -> Picture:
    """Every run as a dot, their mean as a bar, and the two published figures beside it."""
    import matplotlib.pyplot as plt

    summaries = summarise(results)
    figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    for place, summary in enumerate(summaries):
        scores = [r.bleu_tokens for r in results if r.mechanism == summary.mechanism]
        axes.bar(place, summary.bleu_mean, width=0.5, color="#9db8d9", zorder=1)
        axes.plot([place] * len(scores), scores, "o", color="#1f4e8c", ms=5, zorder=2)
        axes.annotate(
            f"{summary.bleu_mean:.1f}", (place - 0.28, summary.bleu_mean), ha="right", va="center"
        )
        for shift, mark, published in ((0.36, "s", DOCUMENT), (0.46, "^", OTHER_REPORT)):
            if summary.mechanism in published:
                axes.plot(
                    place + shift, published[summary.mechanism], mark, color="#b4571a", mfc="none"
                )
    handles = [
        axes.plot([], [], "o", color="#1f4e8c", label="one run here")[0],
        axes.plot([], [], "s", color="#b4571a", mfc="none", label="published: sample")[0],
        axes.plot([], [], "^", color="#b4571a", mfc="none", label="published: report")[0],
    ]
    axes.legend(handles=handles, frameon=False, fontsize=8, loc="upper left")
    axes.set_xticks(range(len(summaries)), [summary.mechanism for summary in summaries])
    axes.set(ylabel="test BLEU", ylim=(0, 44), xlim=(-0.6, len(summaries) - 0.2))
    axes.spines[["top", "right"]].set_visible(False)
    means = "; ".join(f"{s.mechanism} {s.bleu_mean:.1f} over {s.runs} runs" for s in summaries)
    return from_figure(figure, f"Test BLEU by mechanism, mean of the runs: {means}.")
