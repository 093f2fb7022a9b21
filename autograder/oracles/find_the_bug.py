"""Which model has which fault, and what shows it; students get digests of these."""

import numpy as np

from course_utils.checks.wire import Ask
from course_utils.transformer.bug_choices import digest

ANSWERS = {
    "a": ("no source positions", "order does not matter"),
    "b": ("the future leaks", "low loss, wrong samples"),
    "c": ("attends to padding", "neighbours matter"),
}


def as_array(text: str) -> np.ndarray:
    return np.frombuffer(bytes.fromhex(text), dtype=np.uint8)


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    return {
        f"{kind}_{letter}": as_array(digest(letter, text))
        for letter, texts in ANSWERS.items()
        for kind, text in zip(("bug", "reason"), texts)
    }
