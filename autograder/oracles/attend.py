"""One query a sentence: scores, weights and context in loops, and what the known mistakes give."""

import numpy as np

from autograder.oracles.blocks import remembered, slopes, softmax, with_mistakes
from course_utils.checks.wire import Ask

TWISTS = [
    "softmax-over-batch",
    "scaled-by-sqrt-d",
    "scaled-by-d",
    "mean-pooling",
    "argmax",
    "raw-scores",
    "sigmoid",
    "exp-without-sum",
    "sum-without-exp",
    "softmax-twice",
    "negative-scores",
    "last-state-for-context",
    "best-state-for-context",
    "mean-state-for-context",
    "mean-for-sum",
    "query-added",
    "scores-for-context",
]


def attend(query, states, twist: str = "") -> tuple[np.ndarray, np.ndarray]:
    B, S, D = states.shape
    scores = np.array([[query[b] @ states[b, s] for s in range(S)] for b in range(B)])
    weights = weights_of(scores, D, twist)
    used = scores if twist == "scores-for-context" else weights
    context = np.zeros((B, D))
    for b in range(B):
        for s in range(S):
            context[b] += used[b, s] * states[b, s]
    best = scores.argmax(axis=1)
    context = {
        "last-state-for-context": lambda: states[:, -1],
        "best-state-for-context": lambda: states[np.arange(B), best],
        "mean-state-for-context": lambda: states.mean(axis=1),
        "mean-for-sum": lambda: context / S,
        "query-added": lambda: context + query,
    }.get(twist, lambda: context)()
    return context, weights


def weights_of(scores: np.ndarray, D: int, twist: str) -> np.ndarray:
    rules = {
        "softmax-over-batch": lambda z: softmax(z, axis=0),
        "scaled-by-sqrt-d": lambda z: softmax(z / np.sqrt(D)),
        "scaled-by-d": lambda z: softmax(z / D),
        "mean-pooling": lambda z: np.full(z.shape, 1 / z.shape[1]),
        "argmax": lambda z: np.eye(z.shape[1])[z.argmax(axis=1)],
        "raw-scores": lambda z: z,
        "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
        "exp-without-sum": np.exp,
        "sum-without-exp": lambda z: z / z.sum(axis=1, keepdims=True),
        "softmax-twice": lambda z: softmax(softmax(z)),
        "negative-scores": lambda z: softmax(-z),
    }
    return rules.get(twist, softmax)(scores)


@remembered
def oracle(ask: Ask) -> dict[str, np.ndarray]:
    arguments = ask.options["args"]
    arrays = with_mistakes(attend, TWISTS, *arguments)
    if "directions" in ask.options:
        o = ask.options
        arrays["slopes"] = slopes(attend, arguments, o["directions"], o["upstream"])
    return arrays
