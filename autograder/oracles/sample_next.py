"""How often each token should be drawn, and how often it is drawn with the known mistakes."""

import itertools

import numpy as np

from course_utils.checks import judge
from course_utils.checks.equations import softmax
from course_utils.checks.judge import Mistakes
from course_utils.checks.wire import Ask


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    """`mistaken` has one row per combination of mistakes, in the exercise's order."""
    logits = ask.options["args"][0]
    combinations = itertools.chain(*judge.load("sample-next").combinations)
    return {
        "right": right(logits, **ask.options["kwargs"]),
        "always-the-best": np.eye(len(logits))[logits.argmax()],
        "all-alike": np.full(len(logits), 1 / len(logits)),
        "mistaken": np.array([probabilities(ask, names) for names in combinations]),
    }


def right(logits: np.ndarray, temperature: float = 1.0, top_k: int | None = None) -> np.ndarray:
    return among(logits / temperature, in_order(logits)[:top_k])


def probabilities(ask: Ask, mistakes: Mistakes) -> np.ndarray:
    """With these mistakes: -1 if they raise, NaN if there are several ways to make them."""
    logits, named = ask.options["args"][0], ask.options["kwargs"]
    temperature, top_k = named.get("temperature", 1.0), named.get("top_k")
    anything = np.full(len(logits), np.nan)
    scores = logits / temperature
    if "temperature-ignored" in mistakes:
        scores = logits
    if "temperature-multiplied" in mistakes:
        scores = logits * temperature
    if "softmax-twice" in mistakes:
        # Whether a token that was left out comes back depends on where top_k is applied.
        return anything if top_k else softmax(softmax(scores))
    if top_k is None:
        return anything if "top-k-ranks" in mistakes else softmax(scores)
    if "top-k-larger-than-vocabulary" in mistakes and top_k > len(logits):
        return np.full(len(logits), -1.0)
    best, k = in_order(logits), min(top_k, len(logits))
    if "top-k-one-fewer" in mistakes:
        return anything if k in (1, len(logits)) else among(scores, best[: k - 1])
    if "top-k-ignored" in mistakes:
        return softmax(scores)
    if "top-k-smallest" in mistakes:
        return among(scores, best[-k:])
    if "top-k-uniform" in mistakes:
        return among(np.zeros_like(scores), best[:k])
    if "top-k-one-more" in mistakes:
        return among(scores, best[: k + 1])
    if "top-k-masked-with-zero" in mistakes:
        kept = set(best[:k])
        return softmax([z if token in kept else 0.0 for token, z in enumerate(scores)])
    shares = among(scores, best[:k])
    if "top-k-ranks" in mistakes:
        return np.array([*shares[best[:k]], *[0.0] * (len(logits) - k)])
    return shares


def in_order(logits: np.ndarray) -> list[int]:
    return sorted(range(len(logits)), key=lambda token: -logits[token])


def among(scores: np.ndarray, kept: list[int]) -> np.ndarray:
    """The softmax over the tokens that are kept; the others are never drawn."""
    result = np.zeros(len(scores))
    result[kept] = softmax(scores[kept])
    return result
