"""One query per sentence: scores, weights and context, and what the known mistakes give."""

import numpy as np

from autograder.oracles.blocks import chosen, right_arrays, softmax
from course_utils.checks.judge import Mistakes
from course_utils.checks.wire import Ask

RULES = {
    "softmax-over-batch": lambda z: softmax(z, axis=0),
    "mean-pooling": lambda z: np.full(z.shape, 1 / z.shape[1]),
    "argmax": lambda z: np.eye(z.shape[1])[z.argmax(axis=1)],
    "raw-scores": lambda z: z,
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "exp-without-sum": np.exp,
    "sum-without-exp": lambda z: z / z.sum(axis=1, keepdims=True),
    "softmax-twice": lambda z: softmax(softmax(z)),
}


def outputs(ask: Ask, mistakes: Mistakes) -> list[np.ndarray]:
    query, states = ask.options["args"]
    B, S, D = states.shape
    scores = np.einsum("bd,bsd->bs", query, states)
    scores = scores / chosen(mistakes, {"scaled-by-sqrt-d": np.sqrt(D), "scaled-by-d": D}, 1.0)
    if "negative-scores" in mistakes:
        scores = -scores
    weights = chosen(mistakes, RULES, softmax)(scores)
    context = np.einsum("bs,bsd->bd", weights, states)
    contexts = {
        "scores-for-context": lambda: np.einsum("bs,bsd->bd", scores, states),
        "last-state-for-context": lambda: states[:, -1],
        "best-state-for-context": lambda: states[np.arange(B), weights.argmax(axis=1)],
        "mean-state-for-context": lambda: states.mean(axis=1),
        "mean-for-sum": lambda: context / S,
        "query-added": lambda: context + query,
    }
    context = chosen(mistakes, contexts, lambda: context)()
    return [weights, context] if "outputs-swapped" in mistakes else [context, weights]


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    return right_arrays(outputs, ask)
