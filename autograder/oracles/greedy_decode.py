"""Greedy decoding row by row, and what the known mistakes give."""

import numpy as np

from course_utils.checks.next_words import next_words
from course_utils.checks.wire import Ask


def best(prefix, table, twist) -> int:
    seen = prefix[-1:] if twist == "last-token-only" else prefix
    row = next_words(seen, table)
    return int(row.argmin() if twist == "least-likely" else row.argmax())


def decode(first, end, max_length, table, twist="") -> np.ndarray:
    rows = [[int(token)] for token in first]
    ended = [False] * len(rows)
    steps = {"one-step-short": max_length - 1, "one-step-long": max_length + 1}
    for _ in range(steps.get(twist, max_length)):
        for number, row in enumerate(rows):
            token = best(row, table, twist)
            if ended[number] and twist not in ("writes-on-after-the-end", "stops-with-the-first"):
                token = 0 if twist == "padded-with-zero" else end
            row.append(token)
            ended[number] = ended[number] or token == end
        if all(ended) or (twist == "stops-with-the-first" and any(ended)):
            break
    return np.array([row if twist == "keeps-the-first-token" else row[1:] for row in rows])


TWISTS = [
    "writes-on-after-the-end",
    "stops-with-the-first",
    "keeps-the-first-token",
    "last-token-only",
    "least-likely",
    "one-step-short",
    "one-step-long",
    "padded-with-zero",
]


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    first, end, max_length = ask.options["args"]
    table = ask.options["table"]
    arrays = {"right/0": decode(first, end, max_length, table).astype(float)}
    for twist in TWISTS:
        arrays[f"{twist}/0"] = decode(first, end, max_length, table, twist).astype(float)
    return arrays
