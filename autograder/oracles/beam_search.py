"""Beam search in plain loops: the right ways to do it, and what the known mistakes find.

The exercise says which prefixes to extend: the `beam` best. What happens to those that have
ended is described in several ways by good textbooks and libraries, and each is accepted. A beam that
shrinks with every sequence that ends is not: it no longer keeps the `beam` best.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from course_utils.checks.next_words import next_words
from course_utils.checks.wire import Ask

# Where sequences that have ended go, and when the search stops.
ENDED = {
    "aside": "they take a place in this step, then leave the beam",
    "stay": "they stay in the beam and compete by their sum",
    "stay-by-score": "they stay in the beam and compete by their score",
    "beside": "they take no place; those among the 2 * beam best count",
    "all": "they take no place; all of them count",
}
STOPS = ("at the limit", "at beam ended")
MISTAKES = (
    "greedy",
    "one-child-each",
    "last-word-only",
    "probabilities-added",
    "stops-at-the-first-end",
    "worst-kept",
    "no-length-penalty",
    "start-counted",
    "shrinking-beam",
)


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    start, end, beam, max_length = ask.options["args"]
    penalty = ask.options["kwargs"].get("length_penalty", 0.0)
    given = (ask.options["table"], start, end, beam, max_length, penalty)
    found = {f"right {e}, {s}": search(*given, e, s) for e, s in itertools.product(ENDED, STOPS)}
    found |= {mistake: search(*given, mistake=mistake) for mistake in MISTAKES}
    # Padded with -1, so that all answers have one shape.
    return {
        name: np.array(tokens + [-1] * (max_length - len(tokens)), dtype=np.int64)
        for name, tokens in found.items()
    }


def search(
    table, start, end, beam, max_length, penalty, ended="aside", stops=STOPS[0], mistake=""
) -> list[int]:
    """The tokens that one way of searching finds."""
    if mistake == "greedy":
        beam = 1
    if mistake == "no-length-penalty":
        penalty = 0.0
    alive, finished, places = [([start], 0.0)], [], beam

    def score(entry):
        prefix, total = entry
        start = 0 if mistake == "start-counted" else 1
        return total / max(1, len(prefix) - start) ** penalty

    def total(entry):
        return entry[1]

    def over(entry):
        return len(entry[0]) > 1 and entry[0][-1] == end

    for length in range(1, max_length + 1):
        candidates = [entry for entry in alive if over(entry)]
        for prefix, before in (entry for entry in alive if not over(entry)):
            candidates += _continuations(prefix, before, next_words(prefix, table), mistake)
        candidates.sort(
            key=score if ended == "stay-by-score" else total, reverse=mistake != "worst-kept"
        )
        if ended in ("stay", "stay-by-score"):
            alive = candidates[:beam]
            if all(over(entry) for entry in alive):
                break
            continue
        if ended in ("beside", "all"):
            counted = candidates[: 2 * beam] if ended == "beside" else candidates
            finished += [entry for entry in counted if over(entry)]
            alive = [entry for entry in candidates if not over(entry)][:beam]
        else:
            kept = candidates[:places]
            finished += [entry for entry in kept if over(entry)]
            alive = [entry for entry in kept if not over(entry)]
            if mistake == "shrinking-beam":
                places = beam - len(finished)
        enough = {STOPS[0]: None, STOPS[1]: beam}[stops]
        if mistake == "stops-at-the-first-end":
            enough = 1
        if length < max_length and enough and len(finished) >= enough:
            alive = []  # those that are cut off by the limit count, these do not
        if not alive:
            break
    everything = finished + alive
    chosen = min(everything, key=score) if mistake == "worst-kept" else max(everything, key=score)
    return chosen[0][1:]


def _continuations(prefix, before, logs, mistake):
    words: Sequence[int] = range(len(logs))
    if mistake == "one-child-each" and len(prefix) > 1:
        words = [int(logs.argmax())]
    for word in words:
        if mistake == "last-word-only":
            value = logs[word]
        elif mistake == "probabilities-added":
            value = before + np.exp(logs[word])
        else:
            value = before + logs[word]
        yield [*prefix, word], value
