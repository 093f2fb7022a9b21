"""The table that replaces a model in the checks of decoders: what follows each prefix.

It needs no torch, so questions can be drawn where no student's code runs.
"""

from collections.abc import Sequence

import numpy as np


def row_of(prefix, rows: int) -> int:
    """Which row of the table belongs to a prefix: every token and its position count."""
    number = 7
    for token in prefix:
        number = (31 * number + int(token) + 1) % 1_000_003
    return number % rows


def next_words(prefix, table: np.ndarray, special: Sequence[dict] = ()) -> np.ndarray:
    """The log-probabilities [V] of what follows a prefix."""
    prefix = [int(token) for token in prefix]
    for entry in special:
        if [int(token) for token in entry["prefix"]] == prefix:
            return np.asarray(entry["row"], dtype=float)
    return table[row_of(prefix, len(table))]
