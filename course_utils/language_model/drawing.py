"""Pictures of notebooks 07 and 08: what steps cost, which heads matter, what is recalled."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from course_utils.figures.picture import Picture, from_figure
from course_utils.language_model.costs import Cost, slope, slopes
from course_utils.language_model.memory import MemoryPoint
from course_utils.language_model.recall import MeasuredRecall
from course_utils.language_model.writing import Written

COLOURS = {
    "RNN": "#b4571a",
    "SSM": "#3d7a4a",
    "selective SSM": "#7a3d7a",
    "transformer": "#1f4e8c",
}
MARKS = {"RNN": "s", "SSM": "^", "selective SSM": "D", "transformer": "o"}


def draw_steps(without: Written, cached: Written) -> Picture:
    """What each step of writing cost, without and with a cache."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
    for written, mark, colour, label in (
        (without, ".", "#b4571a", "without cache"),
        (cached, "x", "#1f4e8c", "with cache"),
    ):
        axes.plot([1e3 * s for s in written.seconds], mark, ms=3, color=colour, label=label)
    # In the slowest few steps the machine did something else; they would flatten the rest.
    usual = sorted(without.seconds)[int(0.98 * len(without.seconds))]
    axes.set(xlabel="tokens written so far", ylabel="milliseconds for the next")
    axes.set_ylim(0, 1.2e3 * usual)
    axes.legend(frameon=False, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
    quarter = max(1, len(without.seconds) // 4)

    def typical(written: Written) -> str:
        ends = (written.seconds[:quarter], written.seconds[-quarter:])
        return " and ".join(f"{1e3 * sorted(part)[len(part) // 2]:.1f}" for part in ends)

    return from_figure(
        figure,
        f"Milliseconds per token, median of the first {quarter} and of the last {quarter} tokens. "
        f"Without cache: {typical(without)}. With cache: {typical(cached)}.",
    )


def draw_heads(table: Sequence[tuple[str, float, float]]) -> Picture:
    """Heads as (name, sharpness, share of words lost without it)."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for name, sharp, lost in table:
        place = (sharp, 100 * lost)
        axes.plot(*place, "o", color="#1f4e8c")
        axes.annotate(name, place, xytext=(4, 4), textcoords="offset points", fontsize=8)
    axes.axhline(0, color="grey", lw=0.6)
    axes.set(
        xlabel="sharpness: mean largest weight on the source",
        ylabel="next words lost, in percentage points",
    )
    axes.spines[["top", "right"]].set_visible(False)
    rows = (f"{name}: {sharp:.2f}, {100 * lost:.1f}." for name, sharp, lost in table)
    return from_figure(
        figure, "Heads as layer.head, with sharpness and percentage points lost. " + " ".join(rows)
    )


def plot_costs(
    costs: Sequence[Cost], title: str, kept_label: str, kept_unit: float = 1.0, *, words: str
) -> Picture:
    """Time and what is kept against length, on logarithmic scales, each line with its slope."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullLocator

    figure, axes = plt.subplots(1, 2, figsize=(9.4, 3.9), layout="constrained")
    found = slopes(costs)
    for kind, both in found.items():
        own = [cost for cost in costs if cost.kind == kind]
        family, fused = kind.partition(",")[0], "," in kind
        lengths = [cost.length for cost in own]
        rows = ([c.seconds * 1e3 for c in own], [c.kept / kept_unit for c in own])
        for axis, values, steepness in zip(axes, rows, both):
            axis.loglog(
                lengths,
                values,
                ":" if fused else "-",
                marker=MARKS[family],
                mfc="white" if fused else None,
                ms=5,
                color=COLOURS[family],
                label=f"{kind} (slope {round(steepness, 1) + 0.0:.1f})",
            )
    for axis, label in zip(axes, ("milliseconds", kept_label)):
        axis.set(xlabel="length", ylabel=label)
        axis.set_xticks(lengths, [str(length) for length in lengths])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_locator(NullLocator())
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(
            frameon=False, fontsize=8, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0)
        )
    figure.suptitle(title, fontsize=10)
    return from_figure(figure, words)


def draw_recall(measured: MeasuredRecall, trained: int = 16) -> Picture:
    """Correct answers by number of pairs, and the line of an answer that ignores the keys."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for kind, shares in measured.models.items():
        axes.plot(measured.pairs, shares, marker=MARKS[kind], color=COLOURS[kind], label=kind)
    axes.plot(measured.pairs, measured.no_keys, ":", color="#555555", label="no keys")
    axes.axvline(trained, color="grey", lw=0.6)
    axes.text(1.03 * trained, 0.55, "more than in training", fontsize=8, color="#555555")
    axes.set_xscale("log", base=2)
    axes.set_xticks(measured.pairs, [str(n) for n in measured.pairs])
    axes.set(xlabel="pairs to remember", ylabel="share of correct answers", ylim=(0, 1.05))
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.spines[["top", "right"]].set_visible(False)
    lines = {**measured.models, "no keys": measured.no_keys}
    rows = (
        f"{kind}: "
        + ", ".join(f"{n} pairs {share:.0%}" for n, share in zip(measured.pairs, shares))
        + "."
        for kind, shares in lines.items()
    )
    return from_figure(figure, "Share of correct answers by number of pairs. " + " ".join(rows))


MEMORY_STYLES = {
    "plain sum": ("#b4571a", "s"),
    "delta rule, 1 pass": ("#8a6d1a", "^"),
    "delta rule, 100 passes": ("#3d7a4a", "v"),
    "least squares": ("#1f4e8c", "o"),
    "attention": ("#7a3d7a", "D"),
    "values only": ("#555555", "x"),
}


def draw_memories(points: Sequence[MemoryPoint]) -> Picture:
    """Squared error against the number of pairs, with the line that no matrix can cross."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.4, 3.6), layout="constrained")
    size = points[0].size
    told = []
    for name in dict.fromkeys(point.memory for point in points):
        own = [point for point in points if point.memory == name]
        counts, errors = [p.pairs for p in own], [p.squared_error for p in own]
        colour, mark = MEMORY_STYLES[name]
        axes.plot(counts, errors, marker=mark, ms=4, color=colour, label=name)
        found = dict(zip(counts, errors))
        told.append(f"{name}: " + ", ".join(f"{n} pairs {found[n]:.2f}" for n in counts[::2]))
    most = max(point.pairs for point in points)
    line = [max(0.0, 1 - size / n) for n in range(1, most + 1)]
    axes.plot(range(1, most + 1), line, "--", color="black", lw=1, label="limit 1 - d/N")
    axes.set(xlabel=f"pairs to remember (d = {size})", ylabel="squared error", ylim=(-0.05, 2.05))
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.spines[["top", "right"]].set_visible(False)
    return from_figure(figure, "Squared error by number of pairs. " + ". ".join(told) + ".")


def draw_scores(scores: Tensor) -> Picture:
    """The score of one query with one key, at every pair of positions: [T, T]."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(4.6, 3.8), layout="constrained")
    largest = float(scores.abs().max())
    image = axes.imshow(scores.numpy(), cmap="PuOr", vmin=-largest, vmax=largest)
    axes.set(xlabel="position of the key", ylabel="position of the query")
    figure.colorbar(image, label="score")
    spread = max(
        float(scores.diagonal(k).max() - scores.diagonal(k).min())
        for k in range(1 - len(scores), len(scores))
    )
    return from_figure(
        figure,
        "Scores of one query and one key at every pair of positions. Along a diagonal, where the "
        f"distance is the same, they differ by at most {spread:.1e}; over the whole table by "
        f"{float(scores.max() - scores.min()):.1f}.",
    )


def draw_memory(rows: Sequence[tuple[int, int, int]]) -> Picture:
    """Length, peak bytes at once, peak bytes in blocks: on logarithmic scales."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullLocator

    figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
    lengths = [row[0] for row in rows]
    told = []
    for column, name, colour, mark in (
        (1, "at once", "#b4571a", "s"),
        (2, "in blocks", "#1f4e8c", "o"),
    ):
        values = [row[column] / 1e6 for row in rows]
        steepness = round(slope(lengths, values), 1)
        axes.loglog(
            lengths, values, marker=mark, color=colour, label=f"{name} (slope {steepness:.1f})"
        )
        told.append(f"{name}: {values[0]:.1f} to {values[-1]:.1f} MB, as length^{steepness:.1f}")
    axes.set_xticks(lengths, [str(length) for length in lengths])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set(xlabel="length", ylabel="peak memory (MB)")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return from_figure(
        figure, f"Peak memory from length {lengths[0]} to {lengths[-1]}. " + "; ".join(told) + "."
    )
