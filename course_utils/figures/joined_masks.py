"""Who may look at whom: encoder-decoder, decoder-only, and decoder-only with a two-way source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .picture import Picture, from_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"source": "#9db8d9", "cross": "#f1c27d", "target": "#a9d0b0", "none": "#ffffff"}
KINDS = ("encoder-decoder", "decoder-only, causal", "decoder-only, two-way source")


def allowed(kind: str, row: int, column: int, S: int) -> bool:
    """Whether the word at `row` may look at the one at `column`; the first S are the source."""
    if kind not in KINDS:
        raise ValueError(f"The kind must be one of {', '.join(KINDS)}, not {kind!r}.")
    both_in_source = row < S and column < S
    if both_in_source and kind != "decoder-only, causal":
        return True
    return column <= row


def draw_masks(source: Sequence[str], target: Sequence[str]) -> Picture:
    """Three square tables with a dot where looking is allowed, coloured by part of the model."""
    import matplotlib.pyplot as plt

    words, S = [*source, *target], len(source)
    figure, all_axes = plt.subplots(1, 3, figsize=(11.5, 4.2), layout="constrained")
    for kind, axes in zip(KINDS, all_axes):
        _draw_mask(axes, kind, words, S)
    _name_blocks(all_axes[0], S, len(words))
    all_axes[0].set_ylabel("this word looks ...")
    figure.supxlabel("... at this word", fontsize=9)
    return from_figure(
        figure,
        f"Three tables of {len(words)} words by {len(words)}. A dot marks where a word may look. "
        "Left, the encoder-decoder: source words see all source words, target words see all source "
        "words and the target words up to themselves. Middle, causal: every word sees only the "
        "words up to itself, so the source block is a triangle too. Right: as on the left, but in "
        "one stack.",
    )


def _draw_mask(axes: Axes, kind: str, words: Sequence[str], S: int) -> None:
    from matplotlib.patches import Rectangle

    L = len(words)
    for row in range(L):
        for column in range(L):
            part = _part(row, column, S) if allowed(kind, row, column, S) else "none"
            corner = (column - 0.5, row - 0.5)
            axes.add_patch(Rectangle(corner, 1, 1, fc=COLOURS[part], ec="#cccccc", lw=0.6))
            if part != "none":
                axes.plot(column, row, ".", color="#333333", ms=4)
    axes.axhline(S - 0.5, color="black", lw=1.2)
    axes.axvline(S - 0.5, color="black", lw=1.2)
    axes.set(xlim=(-0.5, L - 0.5), ylim=(L - 0.5, -0.5), aspect="equal")
    axes.set_xticks(range(L), words, rotation=90, fontsize=8)
    axes.set_yticks(range(L), words, fontsize=8)
    axes.tick_params(length=0)
    axes.set_title(kind, fontsize=10)


def _part(row: int, column: int, S: int) -> str:
    if row < S:
        return "source"
    return "cross" if column < S else "target"


def _name_blocks(axes: Axes, S: int, L: int) -> None:
    middle = (S - 1) / 2, (L + S - 1) / 2
    for name, x, y in (
        ("encoder", middle[0], middle[0]),
        ("cross-attention", middle[0], middle[1]),
        ("decoder", middle[1], middle[1]),
    ):
        paper = {"fc": "white", "ec": "none", "alpha": 0.85, "pad": 1.5}
        axes.text(x, y, name, ha="center", va="center", fontsize=8, bbox=paper)
