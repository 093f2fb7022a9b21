"""The cells of a notebook that shows every widget, for the browser tests."""

DATA = """\
import numpy as np
from course_utils.recurrent import load_channel
from course_utils.widgets import *

rng = np.random.default_rng(0)
weights = rng.dirichlet(np.full(7, 0.4), size=(2, 6))
source = "eine Familie spaziert durch einen Park .".split()
target = "a family walks through a park".split()
channel_runs = load_channel()
words = ["a", "family", "walks", "through", "park", "people"]
steps = [[{"token": words[i], "score": -0.4 - i, "kept": i < 3} for i in range(5)]]
for step in range(1, 9):
    alive = [i for i, node in enumerate(steps[-1]) if node["kept"] and not node.get("finished")]
    entries = [
        {"token": words[(step + i + j) % 6], "parent": i,
         "score": steps[-1][i]["score"] - 0.31 * (j + 1) - 0.17 * i}
        for i in alive for j in range(3)
    ]
    entries.sort(key=lambda entry: -entry["score"])
    for rank, entry in enumerate(entries):
        entry["kept"] = rank < 3
    entries[0]["finished"] = step == 5
    steps.append(entries)
eight = {name: rng.normal(size=(8, 8)).round(2) for name in ("X", "W_Q", "W_K", "W_V")}
"""

CELLS = {
    "editor": 'editor = attention_editor("single-query")\neditor',
    "challenge": 'challenge = attention_editor(challenge="copy-one")\nchallenge',
    "two_heads": 'attention_editor("two-heads")',
    "eight_by_eight": 'attention_editor(mask="custom", seen=np.tri(8), **eight)',
    "long_numbers": "attention_editor(Q=[[-123456.789, 1 / 3]], K=1e6 * np.eye(2), V=np.eye(2) / 7)",
    "softmax": "softmax_explorer(scaled=False)",
    "permutation": "view = permutation_explorer(positions=True)\nview.show(view.state.reversed())\nview",
    "position": "position_explorer()",
    "attention_map": 'attention_map(weights, source, target, title="German to English", head=-2)',
    "attention_row": "rows = attention_map(weights, source, target)\nrows._step(1)\nrows",
    "bottleneck": "bottleneck_explorer(channel_runs)",
    "beam": "beam_tree(steps)",
    "predict": 'predict("which", "Which model learns to copy first?", ["RNN", "attention"])',
    "revealed": 'guess = predict("length-16", "How many strings of 16 symbols come out right?", '
    'unit="%", low=0, high=100, guess=40)\nguess.reveal(97.5)\nguess',
}
