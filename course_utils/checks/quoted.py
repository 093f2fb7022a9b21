"""What a note quotes from the record of a suspect: figures and answers, as the notebook shows them."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from course_utils.transformer.suspects import LINE, Suspect

ANSWER = re.compile(r"\b[a-h]{3,}\b")
COUNT = re.compile(r"(\d+)\s*(?:out\s+of|of|/)\s*(?:the\s+|all\s+)?(\d+)")
PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*(?:%|per\s?cent)")
DECIMAL = re.compile(r"\d*[.,]\d+")
HEAD = re.compile(r"layer\s*(\d)\W*(?:and\s+)?head\s*(\d)")
BRIGHT, MOSTLY_BRIGHT = 0.3, 0.5
HEADS = 4  # in a layer


@dataclass(frozen=True)
class Facts:
    """What an experiment shows: answers, counts such as 3 of 6, shares, decimals, heads of a map."""

    answers: frozenset[str] = frozenset()
    counts: frozenset[tuple[int, int]] = frozenset()
    percents: frozenset[float] = frozenset()
    decimals: frozenset[float] = frozenset()
    heads: frozenset[tuple[int, int]] = frozenset()

    def quoted_in(self, note: str) -> bool:
        note = note.lower()
        return (
            any(word in self.answers for word in ANSWER.findall(note))
            or any((int(a), int(b)) in self.counts for a, b in COUNT.findall(note))
            or any(round(float(p)) in self.percents for p in PERCENT.findall(note))
            or any(self._has(decimal) for decimal in DECIMAL.findall(note))
            or any((int(a), int(b)) in self.heads for a, b in HEAD.findall(note))
        )

    def _has(self, decimal: str) -> bool:
        """Whether it is one of the decimals, as exact as it was copied; 0.0 says too little."""
        value, digits = float(decimal.replace(",", ".")), len(re.split("[.,]", decimal)[1])
        return (digits > 1 or value >= 0.1) and any(
            abs(round(known, digits) - value) < 1e-9 for known in self.decimals
        )


def losses(record: Suspect) -> Facts:
    return Facts(decimals=frozenset(record.losses))


def samples(record: Suspect) -> Facts:
    right = {n: sum(a == line[::-1] for line, a in record.wrote(n)) for n in (4, 5, 6, 7, 8)}
    counts = {(count, len(record.wrote(n))) for n, count in right.items()}
    return Facts(
        answers=frozenset(a for line, a in record.samples if a != line[::-1]),
        counts=frozenset({*counts, *((all_ - count, all_) for count, all_ in counts)}),
        percents=frozenset(round(100 * count / all_) for count, all_ in counts),
    )


def orders(record: Suspect) -> Facts:
    answers = [answer for _, answer in record.orders]
    most = max(map(answers.count, answers))
    return Facts(frozenset(answers), frozenset({(most, len(answers))}))


def _changed(pairs: list[tuple[str, str]], shown: frozenset[str]) -> Facts:
    return Facts(shown, frozenset({(sum(a != b for a, b in pairs), len(pairs))}))


def neighbours(record: Suspect) -> Facts:
    pairs = [(alone, beside) for _, alone, beside in record.neighbours]
    return _changed(pairs, frozenset(beside for alone, beside in pairs if alone != beside))


def calls(record: Suspect) -> Facts:
    pairs = [(first, second) for _, first, second in record.twice]
    return _changed(pairs, frozenset(x for pair in pairs if pair[0] != pair[1] for x in pair))


def _on_map(weights: np.ndarray) -> Facts:
    """The weights [heads, cells] that are bright, and the heads in which most cells are."""
    bright = np.flatnonzero(weights.mean(axis=1) > MOSTLY_BRIGHT)
    return Facts(
        decimals=frozenset(round(float(w), 2) for w in weights.ravel() if w > BRIGHT),
        heads=frozenset((int(n) // HEADS, int(n) % HEADS) for n in bright),
    )


def target_map(ahead: int) -> Callable[[Suspect], Facts]:
    def shows(record: Suspect) -> Facts:
        maps = record.look("itself")
        steps = np.arange(maps.shape[1] - ahead)
        return _on_map(maps[:, steps, steps + ahead])

    return shows


def source_map(record: Suspect) -> Facts:
    maps = record.look("source", padded=True)[:, : len(LINE) + 1, len(LINE) :]
    return _on_map(maps.max(axis=2))


# By reason: the experiments that it speaks about.
EXPERIMENTS: dict[str, tuple[Callable[[Suspect], Facts], ...]] = {
    "low loss, wrong samples": (losses, samples),
    "looks one step ahead": (target_map(1),),
    "looks at its own step": (target_map(0),),
    "neighbours matter": (neighbours, source_map),
    "order does not matter": (orders,),
    "long lines fail": (samples,),
    "calls differ": (calls,),
    "it never stops": (samples,),
    "loss never falls": (losses,),
}


def quotes(note: str, record: Suspect, reasons: list[str]) -> bool:
    """Whether a note quotes something that an experiment of one of these reasons shows."""
    found = [shows(record) for reason in reasons for shows in EXPERIMENTS[reason]]
    return any(facts.quoted_in(note) for facts in found)
