"""Put sentence pairs of similar length together, so that little work is wasted on padding."""

import itertools
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from course_utils.data.tokens import END, PAD, START


@dataclass(frozen=True)
class Example:
    """One sentence pair as word numbers; `place` is its number in the corpus."""

    place: int
    source: list[int]
    target: list[int]


class Batch(NamedTuple):
    """Sources and targets as numbers, the shorter ones padded with PAD.

    source  [B, S]; or [B, S, C] if each step has C tokens (their embeddings are added)
    given   [B, T], what the decoder reads: a start token, then the target
    wanted  [B, T], what it should predict: the target, then END
    places  [B], where the pairs are in their corpus, if they come from one
    """

    source: Tensor
    given: Tensor
    wanted: Tensor
    places: Sequence[int] = ()

    @property
    def words(self) -> int:
        """How many words there are to predict."""
        return int((self.wanted != PAD).sum())

    @property
    def source_mask(self) -> Tensor:
        """True where there is a word, [B, S]."""
        return self.source != PAD


def pad(rows: Iterable[Sequence[int]]) -> Tensor:
    """Lists of numbers as one tensor, the shorter ones padded with PAD."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)


def make_batch(examples: Sequence[Example], pad_sources: bool = False) -> Batch:
    """One batch of examples. Their sources must have the same length, unless they may be padded."""
    lengths = {len(example.source) for example in examples}
    if len(lengths) != 1 and not pad_sources:
        raise ValueError(
            f"All sources of a batch must have the same length, but these have {sorted(lengths)}."
        )
    return Batch(
        pad(example.source for example in examples),
        pad([START, *example.target] for example in examples),
        pad([*example.target, END] for example in examples),
        [example.place for example in examples],
    )


def by_source_length(examples: Sequence[Example]) -> dict[int, list[Example]]:
    """The examples, sorted into one list per source length."""
    groups: dict[int, list[Example]] = {}
    for example in examples:
        groups.setdefault(len(example.source), []).append(example)
    return dict(sorted(groups.items()))


def length_batches(
    examples: Sequence[Example], size: int = 128, seed: int | None = None
) -> list[Batch]:
    """Batches of up to `size` pairs with equal source lengths, so that attention needs no mask.

    The targets have similar lengths. With a seed, pairs and batches are shuffled, as training
    requires; without one, the order is always the same.
    """
    rng = random.Random(seed) if seed is not None else None
    chunks = []
    for group in by_source_length(examples).values():
        group = list(group)
        if rng:
            rng.shuffle(group)
        # The sort is stable: pairs of one length stay in their shuffled order.
        group.sort(key=lambda example: len(example.target))
        count = -(-len(group) // size)
        edges = [round(part * len(group) / count) for part in range(count + 1)]
        chunks += [group[start:stop] for start, stop in itertools.pairwise(edges)]
    if rng:
        rng.shuffle(chunks)
    return [make_batch(chunk) for chunk in chunks]


def padded_batches(
    examples: Sequence[Example], words: int = 2000, seed: int | None = None
) -> list[Batch]:
    """Batches of at most `words` target words, with pairs of similar lengths and padded sources.

    With a seed, pairs and batches are shuffled; without one, the order is always the same.
    """
    rng = random.Random(seed) if seed is not None else None

    def lengths(example: Example) -> tuple[int, float]:
        # A little noise, so that a pair meets other neighbours in each epoch.
        return len(example.target), len(example.source) + (2 * rng.random() if rng else 0.0)

    chunks: list[list[Example]] = []
    for example in sorted(examples, key=lengths):
        if not chunks or (len(example.target) + 1) * (len(chunks[-1]) + 1) > words:
            chunks.append([])
        chunks[-1].append(example)
    if rng:
        rng.shuffle(chunks)
    return [make_batch(chunk, pad_sources=True) for chunk in chunks]
