"""How often each token should be drawn, and how often with a known mistake."""

import numpy as np

from course_utils.checks.equations import softmax
from course_utils.checks.wire import Ask


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    logits = ask.options["args"][0]
    temperature = ask.options["kwargs"].get("temperature", 1.0)
    top_k = ask.options["kwargs"].get("top_k") or len(logits)
    best = sorted(range(len(logits)), key=lambda token: -logits[token])
    kept = best[:top_k]
    right = among(logits / temperature, kept)
    return {
        "right": right,
        "always-the-best": np.eye(len(logits))[best[0]],
        "all-alike": np.full(len(logits), 1 / len(logits)),
        "softmax-twice": softmax(right),
        "temperature-ignored": among(logits, kept),
        "temperature-multiplied": among(logits * temperature, kept),
        "top-k-ignored": softmax(logits / temperature),
        "top-k-smallest": among(logits / temperature, best[-top_k:]),
        "top-k-uniform": among(np.zeros_like(logits), kept),
        "top-k-one-fewer": among(logits / temperature, best[: max(1, top_k - 1)]),
        "top-k-one-more": among(logits / temperature, best[: top_k + 1]),
        "top-k-masked-with-zero": softmax(
            [z if token in kept else 0.0 for token, z in enumerate(logits / temperature)]
        ),
        "top-k-ranks": np.array([*right[kept], *[0.0] * (len(logits) - len(kept))]),
    }


def among(scores: np.ndarray, kept: list[int]) -> np.ndarray:
    """The softmax over the tokens that are kept; the others are never drawn."""
    result = np.zeros(len(scores))
    result[kept] = softmax(scores[kept])
    return result
