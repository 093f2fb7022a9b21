"""What a message of n bits can carry at most, and what was measured (notebook 02).

All symbols are equally likely and independent, so nobody can guess one from the others, and
information theory tells us how many can be right at most. A state of floating-point numbers has no
such bound: 32 of them have room for far more than any text here.
"""

import math
from dataclasses import dataclass

from course_utils.measured import FOLDER
from course_utils.measured.tables import read_table

# Written by benchmarks/channel_capacity.py.
CHANNEL = FOLDER / "channel.csv"
ALPHABET = 16  # four bits per symbol


def bits_needed(share: float, alphabet: int = ALPHABET) -> float:
    """The least bits per symbol with which a share of the symbols can be right.

    log2 A - H(p) - (1 - p) log2(A - 1): everything there is to know about a symbol, minus what
    may stay unknown when a share of 1 - p is wrong.
    """
    wrong = 1 - share
    doubt = sum(-p * math.log2(p) for p in (share, wrong) if p > 0)
    return math.log2(alphabet) - doubt - wrong * math.log2(alphabet - 1)


def bound(bits_per_symbol: float, alphabet: int = ALPHABET) -> float:
    """The largest share of symbols that any code can get right, however long it was trained."""
    if bits_per_symbol >= math.log2(alphabet):
        return 1.0
    low, high = 1 / alphabet, 1.0  # guessing needs no bits, and `bits_needed` grows from there
    for _ in range(60):
        middle = (low + high) / 2
        if bits_needed(middle, alphabet) <= bits_per_symbol:
            low = middle
        else:
            high = middle
    return low


def keep_the_first(bits: int, length: int, alphabet: int = ALPHABET) -> float:
    """The share right with the plainest code: pass on the first symbols whole, guess the rest.

    The bits left over show in which part of the alphabet the next symbol is.
    """
    whole, left = divmod(bits, math.log2(alphabet))
    if whole >= length:
        return 1.0
    return (whole + 2**left / alphabet + (length - whole - 1) / alphabet) / length


@dataclass(frozen=True)
class ChannelPoint:
    """One trained model: its size, its training, and the share of symbols it gets right."""

    model: str
    bits: int
    length: int
    bits_per_symbol: float
    steps: int
    seed: int
    share_right: float
    bound: float
    keep_the_first: float
    seconds: float


def load_channel() -> list[ChannelPoint]:
    """The measured runs; `benchmarks/channel_capacity.py` made them."""
    return read_table(CHANNEL, ChannelPoint)
