"""The loss on the next token, prediction by prediction, and what the known mistakes give."""

import itertools
import math

import numpy as np

from autograder.oracles.blocks import right_arrays, softmax
from course_utils.checks.judge import Mistakes
from course_utils.checks.wire import Ask


def pairs(B: int, T: int, mistakes: Mistakes) -> list[tuple[int, int, int, int]]:
    """Which logits (text, position) are compared with which token (text, position)."""
    if "across-texts" in mistakes:
        places = [(b, t) for b in range(B) for t in range(T)]
        return [(*one, *following) for one, following in itertools.pairwise(places)]
    if "rolled-across-texts" in mistakes:
        places = [(b, t) for b in range(B) for t in range(T)]
        return [(*one, *other) for one, other in zip(places, places[1:] + places[:1])]
    found = []
    for b in range(B):
        for t in range(T):
            target = t + 1
            if "not-shifted" in mistakes:
                target = t
            if "shifted-backwards" in mistakes:
                target = t - 1
            if "shifted-by-two" in mistakes:
                target = t + 2
            if "rolled" in mistakes:
                target = (t + 1) % T
            if "rolled-backwards" in mistakes:
                target = (t - 1) % T
            if "last-position-only" in mistakes and t != T - 2:
                continue
            if 0 <= target < T:
                found.append((b, t, b, target))
    return found


def outputs(ask: Ask, mistakes: Mistakes) -> list[np.ndarray] | None:
    logits, tokens = ask.options["args"]
    B, T, _ = logits.shape
    losses = []
    for b, t, text, target in pairs(B, T, mistakes):
        z = softmax(logits[b, t]) if "softmax-twice" in mistakes else logits[b, t]
        top = z.max()
        log_p = z[tokens[text, target]] - top - math.log(np.exp(z - top).sum())
        if "probability" in mistakes:
            losses.append(math.exp(log_p))
        elif "bits" in mistakes:
            losses.append(-log_p / math.log(2))
        else:
            losses.append(log_p if "sign" in mistakes else -log_p)
    count = len(losses)
    if "sum" in mistakes:
        count = 1
    if "sum-per-text" in mistakes:
        count = B
    if "divided-by-all-tokens" in mistakes:
        count = B * T
    return [np.array([sum(losses) / count if losses else math.nan])]


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    return right_arrays(outputs, ask)
