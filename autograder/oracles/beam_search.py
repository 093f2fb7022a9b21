"""Beam search in plain loops: the right ways to do it, and what the known mistakes produce.

The exercise specifies which prefixes to extend: the `beam` best. Good textbooks and libraries treat
those that have ended in several ways, and each is accepted. A beam that shrinks with every sequence
that ends is not accepted, because it no longer keeps the `beam` best.
"""

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from course_utils.checks.judge import RIGHT, Mistakes
from course_utils.checks.next_words import next_words
from course_utils.checks.wire import Ask

Entry = tuple[list[int], float]  # a prefix and the sum of its log-probabilities

# Where sequences that have ended go, and when the search stops.
ENDED = {
    "aside": "they take a place in this step, then leave the beam",
    "stay": "they stay in the beam and compete by their sum",
    "stay-by-score": "they stay in the beam and compete by their score",
    "beside": "they take no place; those among the 2 * beam best count",
    "all": "they take no place; all of them count",
}
STOPS = ("at the limit", "at beam ended")


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    ways = itertools.product(ENDED, STOPS)
    found = {f"right {e}, {s}": search(ask, RIGHT, e, s)[0] for e, s in ways}
    for mistake in ("last-word-only", "probabilities-added", "worst-kept", "no-length-penalty"):
        found[mistake] = search(ask, frozenset([mistake]))[0]
    found["start-counted"] = search(ask, frozenset(["start-counted"]))[0]
    max_length = ask.options["args"][3]
    # Padded with -1, so that all answers have the same shape.
    return {
        name: np.array(tokens + [-1] * (max_length - len(tokens)), dtype=np.int64)
        for name, tokens in found.items()
    }


def outputs(ask: Ask, mistakes: Mistakes) -> list[np.ndarray]:
    """Tokens and score; `mistakes` may include a way to treat sequences that have ended."""
    ended = next((way for way in ENDED if way in mistakes), "aside")
    tokens, score = search(ask, mistakes, ended)
    start, end = ask.options["args"][:2]
    if "start-included" in mistakes:
        tokens = [start, *tokens]
    if "end-left-out" in mistakes:
        tokens = [token for token in tokens if token != end] or [end]
    return [np.array(tokens), np.array([score])]


def search(
    ask: Ask, mistakes: Mistakes = RIGHT, ended: str = "aside", stops: str = STOPS[0]
) -> tuple[list[int], float]:
    """The tokens that one way of searching finds, and what it returns as their score."""
    table, (start, end, beam, max_length) = ask.options["table"], ask.options["args"]
    penalty = ask.options["kwargs"].get("length_penalty", 0.0)
    if "greedy" in mistakes:
        beam = 1
    if "no-length-penalty" in mistakes:
        penalty = 0.0
    worst = "worst-kept" in mistakes
    alive: list[Entry] = [([start], 0.0)]
    finished: list[Entry] = []
    places = beam

    def score(entry: Entry) -> float:
        prefix, total = entry
        counted = 0 if "start-counted" in mistakes else 1
        return total / max(1, len(prefix) - counted) ** penalty

    def total(entry: Entry) -> float:
        return entry[1]

    def over(entry: Entry) -> bool:
        return len(entry[0]) > 1 and entry[0][-1] == end

    for length in range(1, max_length + 1):
        candidates = [entry for entry in alive if over(entry)]
        for prefix, before in (entry for entry in alive if not over(entry)):
            candidates += _continuations(prefix, before, next_words(prefix, table), mistakes)
        candidates.sort(key=score if ended == "stay-by-score" else total, reverse=not worst)
        if ended in ("stay", "stay-by-score"):
            alive = candidates[:places]
            over_now = [entry for entry in alive if over(entry)]
            if len(over_now) == len(alive) or (over_now and "stops-at-the-first-end" in mistakes):
                if length < max_length:
                    alive = over_now
                break
            continue
        if ended in ("beside", "all"):
            counted = candidates[: 2 * beam] if ended == "beside" else candidates
            finished += [entry for entry in counted if over(entry)]
            alive = [entry for entry in candidates if not over(entry)][:places]
        else:
            kept = candidates[:places]
            finished += [entry for entry in kept if over(entry)]
            alive = [entry for entry in kept if not over(entry)]
        if "shrinking-beam" in mistakes:
            places = max(0, beam - len(finished))
            alive = alive[:places] if length < max_length else alive
        enough = {STOPS[0]: None, STOPS[1]: beam}[stops]
        if "stops-at-the-first-end" in mistakes:
            enough = 1
        if length < max_length and enough and len(finished) >= enough:
            alive = []  # sequences that the limit cuts off count; these do not
        if not alive:
            break
    everything = finished + alive
    chosen = min(everything, key=score) if worst else max(everything, key=score)
    returned = total(chosen) if "score-not-normalised" in mistakes else score(chosen)
    return chosen[0][1:], returned


def _continuations(prefix: list[int], before: float, logs, mistakes: Mistakes) -> Iterator[Entry]:
    words: Sequence[int] = range(len(logs))
    if "one-child-each" in mistakes and len(prefix) > 1:
        words = [int(logs.argmax())]
    for word in words:
        value = float(logs[word])
        if "last-word-only" in mistakes:
            yield [*prefix, word], value
        elif "probabilities-added" in mistakes:
            yield [*prefix, word], before + math.exp(value)
        else:
            yield [*prefix, word], before + value
