"""How long the attention editor takes from an edit to the new picture, against matplotlib.

Both draw the same chain at 8 by 8: Q, K, V, scores, scaled, masked, weights and output, with the
number in each cell. Run: python benchmarks/widget_latency.py
"""

import io
import statistics
import sys
import time
from collections.abc import Callable

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np

from course_utils.figures.numbers import shown
from course_utils.widgets import attention_editor
from course_utils.widgets.attention_editor import AttentionEditor

SIZE = 8
LIMIT_MS = 50.0


def make_editor(heads: int = 1) -> AttentionEditor:
    """An editor of the largest size, with a causal mask so that every stage is drawn."""
    rng = np.random.default_rng(0)
    names = ["X", "W_Q", "W_K", "W_V"] + (["W_Q2", "W_K2", "W_V2"] if heads == 2 else [])
    matrices = {name: rng.normal(size=(SIZE, SIZE)).round(2) for name in names}
    if heads == 2:
        matrices["W_O"] = rng.normal(size=(2 * SIZE, SIZE)).round(2)
    return attention_editor(mask="causal", **matrices)


def milliseconds(act: Callable[[int], None], times: int) -> list[float]:
    """How long each of several runs took, without the first, which warms up."""
    spent = []
    for turn in range(times + 1):
        start = time.perf_counter()
        act(turn)
        spent.append(1000 * (time.perf_counter() - start))
    return spent[1:]


def edit(editor: AttentionEditor, turn: int) -> None:
    """What a student's keystroke triggers: state, computation, fields, HTML."""
    before = editor.picture.value
    editor._field("W_K", 3, 4).value = str(round(0.01 * turn + 0.5, 2))
    if editor.picture.value == before:
        raise RuntimeError("The edit did not change the picture, so nothing was measured.")


def redraw(editor: AttentionEditor) -> None:
    """The same tables as one matplotlib figure, as PNG: what an Output widget would show."""
    head = editor.state.chain.heads[0]
    stages = ("Q", "K", "V", "scores", "scaled", "masked", "weights", "output")
    figure, panels = plt.subplots(2, 4, figsize=(16, 8))
    for panel, stage in zip(panels.flat, stages):
        values = getattr(head, stage)
        finite = np.where(np.isfinite(values), values, 0)
        panel.imshow(finite, cmap="coolwarm")
        panel.set_title(stage)
        for (row, column), value in np.ndenumerate(values):
            panel.text(column, row, shown(float(value)), ha="center", va="center", fontsize=6)
    figure.savefig(io.BytesIO(), format="png")
    plt.close(figure)


def main() -> int:
    one, two = make_editor(), make_editor(heads=2)
    ours = milliseconds(lambda turn: edit(one, turn), 50)
    both = milliseconds(lambda turn: edit(two, turn), 50)
    theirs = milliseconds(lambda _: redraw(one), 5)
    middle, other = statistics.median(ours), statistics.median(theirs)
    print(f"editor, 8x8, one head:  median {middle:6.1f} ms, slowest {max(ours):6.1f} ms")
    middle_both = statistics.median(both)
    print(f"editor, 8x8, two heads: median {middle_both:6.1f} ms, slowest {max(both):6.1f} ms")
    print(f"matplotlib redraw:      median {other:6.1f} ms, slowest {max(theirs):6.1f} ms")
    print(f"ratio matplotlib / editor, one head, in this run: {other / middle:.0f}")
    slow = max(middle, middle_both) > LIMIT_MS
    print(f"limit {LIMIT_MS:.0f} ms: {'MISSED' if slow else 'kept'}")
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
