"""Attention with any score, the three scores, and what the known mistakes give."""

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
    "softmax-twice": lambda z: softmax(softmax(z)),
}


def attention(args: list, mistakes: Mistakes) -> list[np.ndarray]:
    query, keys, values, score = args
    B, S, D = keys.shape
    M = np.eye(D) if "score-ignored" in mistakes else score["bilinear"]
    scores = np.array([[query[b] @ M @ keys[b, s] for s in range(S)] for b in range(B)])
    weights = chosen(mistakes, RULES, softmax)(scores)
    contexts = {
        "keys-for-values": lambda: np.einsum("bs,bsd->bd", weights, keys),
        "best-value-for-context": lambda: values[np.arange(B), weights.argmax(axis=1)],
        "mean-value-for-context": lambda: values.mean(axis=1),
        "mean-for-sum": lambda: np.einsum("bs,bsd->bd", weights, values) / S,
    }
    context = chosen(mistakes, contexts, lambda: np.einsum("bs,bsd->bd", weights, values))()
    return [weights, context] if "outputs-swapped" in mistakes else [context, weights]


def dot_score(args: list, mistakes: Mistakes) -> list[np.ndarray]:
    query, keys = args
    D = query.shape[1]
    factor = {"scaled-by-sqrt-d": D**-0.5, "scaled-by-d": 1 / D, "negative-dot": -1.0}
    return [chosen(mistakes, factor, 1.0) * np.einsum("bd,bsd->bs", query, keys)]


def additive_score(args: list, mistakes: Mistakes) -> list[np.ndarray]:
    query, keys, W, U, v = args
    if "matrices-exchanged" in mistakes:
        W, U = U, W
    for_query, for_keys = (query @ W.T)[:, None], keys @ U.T
    inside = for_query * for_keys if "product-inside" in mistakes else for_query + for_keys
    if "no-tanh" in mistakes:
        return [inside @ v]
    return [np.tanh(inside @ v) if "tanh-after-v" in mistakes else np.tanh(inside) @ v]


def linear_score(args: list, mistakes: Mistakes) -> list[np.ndarray]:
    query, keys, W, b = args
    S = keys.shape[1]
    places = slice(len(W) - S, None) if "last-places" in mistakes else slice(S)
    W, b = W[places], b[places]
    if "bias-left-out" in mistakes:
        b = 0 * b
    if "places-meet-keys" in mistakes:
        return [np.einsum("bsd,sd->bs", keys, W) + b]
    return [query @ W.T + b]


TARGETS = {
    "attention": attention,
    "dot_score": dot_score,
    "additive_score": additive_score,
    "linear_score": linear_score,
}


def outputs(ask: Ask, mistakes: Mistakes) -> list[np.ndarray]:
    return TARGETS[ask.options["target"]](ask.options["args"], mistakes)


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    return right_arrays(outputs, ask)
