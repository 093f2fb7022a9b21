"""What noise in the keys does to an average by attention: many draws, one head against two."""

from collections.abc import Sequence

import numpy as np

from course_utils.figures.picture import Picture, from_figure

COLOURS = ("#b45309", "#1d4ed8")


def orthonormal(count: int, size: int, seed: int = 0) -> np.ndarray:
    """`count` directions of length one at right angles to each other, one per row."""
    basis, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((size, count)))
    return np.ascontiguousarray(basis.T)


def attend(query, keys, values) -> np.ndarray:
    """Scaled dot-product attention of one query; `keys` may be [draws, m, d]."""
    scores = _array(keys) @ _array(query) / np.sqrt(np.shape(keys)[-1])
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True) @ _array(values)


def outputs(directions, queries: Sequence, values, variance: float, draws: int, seed=0):
    """The mean output of the heads, one query per head, for every draw of the noise: [draws, dv].

    Each key is its direction times a factor drawn from N(1, variance).
    """
    directions = _array(directions)
    rng = np.random.default_rng(seed)
    factors = rng.normal(1, np.sqrt(variance), (draws, len(directions), 1))
    return np.mean([attend(q, factors * directions, values) for q in queries], axis=0)


def _array(values) -> np.ndarray:
    if hasattr(values, "detach"):
        values = values.detach().numpy()
    return np.asarray(values, dtype=float)


def spread_plot(clouds: dict[str, np.ndarray], title: str = "") -> Picture:
    """Draw outputs [draws, 2] as points, where v_a = (1, 0), v_b = (0, 1) and the rest is 0."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * len(clouds), 4.0), dpi=110, layout="constrained")
    axes = figure.subplots(1, len(clouds), sharex=True, sharey=True, squeeze=False)[0]
    words = []
    for axis, (name, cloud), colour in zip(axes, clouds.items(), COLOURS * len(clouds)):
        gap = np.abs(cloud - 0.5).max(axis=1)
        axis.plot([1, 0], [0, 1], color="#9aa5b1", linewidth=1, zorder=0)
        axis.scatter(cloud[:, 0], cloud[:, 1], s=14, alpha=0.45, color=colour)
        axis.scatter([0.5], [0.5], marker="+", s=180, color="black", zorder=3)
        axis.annotate("target", (0.5, 0.5), xytext=(0.56, 0.6), fontsize=10)
        axis.set(
            title=f"{name}: mean error {gap.mean():.3f}",
            xlabel="weight on $v_a$",
            xlim=(-0.08, 1.08),
            ylim=(-0.08, 1.08),
            aspect="equal",
        )
        axis.spines[["top", "right"]].set_visible(False)
        words.append(
            f"{name}: {len(cloud)} draws, mean error {gap.mean():.3f}, largest {gap.max():.3f}"
        )
    axes[0].set_ylabel("weight on $v_b$")
    if title:
        figure.suptitle(title, fontsize=12)
    opening = "Outputs over many draws of the noise; the target is (0.5, 0.5). "
    return from_figure(figure, opening + "; ".join(words) + ".")
