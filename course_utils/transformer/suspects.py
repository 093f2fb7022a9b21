"""Six trained models that reverse strings, each with one fault: the record of what they do.

The models themselves are not here, only what was recorded when they were trained and asked.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

RECORD = Path(__file__).with_name("suspects.json")
LETTERS = "abcdefgh"
# The line of the experiments, the same letters in other orders, and a longer neighbour.
LINE, LONGER = "abbceh", "abcdefghab"
ORDERS = (LINE, "hbcabe", "ecbabh", "bhecab")
GUESSING = 2.1  # about the loss of a model that guesses among all letters


@dataclass(frozen=True)
class Suspect:
    """What was recorded about one model."""

    name: str
    losses: tuple[float, ...]
    samples: tuple[tuple[str, str], ...]
    orders: tuple[tuple[str, str], ...]
    neighbours: tuple[tuple[str, str, str], ...]
    twice: tuple[tuple[str, str, str], ...]
    maps: dict

    def wrote(self, length: int) -> list[tuple[str, str]]:
        """Lines of one length, each with what the model wrote."""
        return [(line, answer) for line, answer in self.samples if len(line) == length]

    def share_right(self, length: int) -> float:
        found = self.wrote(length)
        return sum(answer == line[::-1] for line, answer in found) / len(found)

    def look(self, at: str = "itself", padded: bool = False) -> np.ndarray:
        """Maps [layers * heads, steps, places] while it reads LINE, alone or beside LONGER."""
        found = self.maps["padded" if padded else "alone"][at]
        return np.array(found) / 100


@cache
def _records() -> dict:
    return json.loads(RECORD.read_text(encoding="utf-8"))


def suspect(letter: str) -> Suspect:
    """The record of model "a" to "f"."""
    if letter not in _records():
        raise ValueError(f"There is no model {letter!r}. There are: {', '.join(_records())}.")
    found = _records()[letter]
    pairs = {
        name: tuple(tuple(row) for row in found[name])
        for name in ("samples", "orders", "neighbours", "twice")
    }
    return Suspect(letter.upper(), tuple(found["losses"]), **pairs, maps=found["maps"])
