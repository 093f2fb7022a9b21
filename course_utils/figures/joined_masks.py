"""Who may look at whom: encoder-decoder, decoder-only, and decoder-only with a two-way source."""

from collections.abc import Sequence

COLOURS = {"source": "#9db8d9", "cross": "#f1c27d", "target": "#a9d0b0", "none": "#ffffff"}
KINDS = ("encoder-decoder", "decoder-only, causal", "decoder-only, two-way source")


def allowed(kind: str, row: int, column: int, S: int) -> bool:
    """Whether the word at `row` may look at the one at `column`; the first S are the source."""
    if kind not in KINDS:
        raise ValueError(f"The kind is one of {', '.join(KINDS)}, not {kind!r}.")
    both_in_source = row < S and column < S
    if both_in_source and kind != "decoder-only, causal":
        return True
    return column <= row


def draw_masks(source: Sequence[str], target: Sequence[str]):
    """Three square tables; a dot where looking is allowed, coloured by the part of the model."""
    import matplotlib.pyplot as plt

    words, S = [*source, *target], len(source)
    L = len(words)
    figure, all_axes = plt.subplots(1, 3, figsize=(11.5, 4.2), layout="constrained")
    for kind, axes in zip(KINDS, all_axes):
        for row in range(L):
            for column in range(L):
                part = (
                    "none"
                    if not allowed(kind, row, column, S)
                    else "source"
                    if row < S
                    else "cross"
                    if column < S
                    else "target"
                )
                square = plt.Rectangle(
                    (column - 0.5, row - 0.5), 1, 1, fc=COLOURS[part], ec="#cccccc", lw=0.6
                )
                axes.add_patch(square)
                if part != "none":
                    axes.plot(column, row, ".", color="#333333", ms=4)
        axes.axhline(S - 0.5, color="black", lw=1.2)
        axes.axvline(S - 0.5, color="black", lw=1.2)
        axes.set(xlim=(-0.5, L - 0.5), ylim=(L - 0.5, -0.5), aspect="equal")
        axes.set_xticks(range(L), words, rotation=90, fontsize=8)
        axes.set_yticks(range(L), words, fontsize=8)
        axes.tick_params(length=0)
        axes.set_title(kind, fontsize=10)
    names = ("encoder", "cross-attention", "decoder")
    middle = (S - 1) / 2, (L + S - 1) / 2
    places = ((middle[0], middle[0]), (middle[0], middle[1]), (middle[1], middle[1]))
    for name, (x, y) in zip(names, places):
        all_axes[0].text(
            x,
            y,
            name,
            ha="center",
            va="center",
            fontsize=8,
            bbox={"fc": "white", "ec": "none", "alpha": 0.85, "pad": 1.5},
        )
    all_axes[0].set_ylabel("this word looks ...")
    figure.supxlabel("... at this word", fontsize=9)
    plt.close(figure)
    return figure
