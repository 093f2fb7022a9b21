"""Put sentence pairs of similar length together, so that little work goes into padding."""

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from course_utils.data.tokens import END, PAD, START


@dataclass(frozen=True)
class Example:
    """One sentence pair as word numbers; `place` is where it stands in the corpus."""

    place: int
    source: list[int]
    target: list[int]


class Batch(NamedTuple):
    """Pairs whose sources have one length: no source is padded, so attention needs no mask.

    `source` is [S, B]. `given` [T, B] is what the decoder reads (it begins with the start
    mark), `wanted` [T, B] what it should say next (it ends with the end mark, then padding).
    """

    source: torch.Tensor
    given: torch.Tensor
    wanted: torch.Tensor
    places: list[int]

    @property
    def words(self) -> int:
        """How many words there are to predict."""
        return int((self.wanted != PAD).sum())


def make_batch(examples: Sequence[Example]) -> Batch:
    """One batch of examples whose sources all have the same length."""
    lengths = {len(example.source) for example in examples}
    if len(lengths) != 1:
        raise ValueError(f"Sources of one batch need one length, these have {sorted(lengths)}.")
    longest = 1 + max(len(example.target) for example in examples)
    given = torch.full((len(examples), longest), PAD)
    wanted = torch.full((len(examples), longest), PAD)
    for row, example in enumerate(examples):
        size = len(example.target) + 1
        given[row, :size] = torch.tensor([START, *example.target])
        wanted[row, :size] = torch.tensor([*example.target, END])
    source = torch.tensor([example.source for example in examples])
    # Time comes first, as the recurrent layers and the assignment's attention want it.
    return Batch(
        source.T.contiguous(),
        given.T.contiguous(),
        wanted.T.contiguous(),
        [example.place for example in examples],
    )


def by_source_length(examples: Sequence[Example]) -> dict[int, list[Example]]:
    """The examples, sorted into one list for each length of the source."""
    groups: dict[int, list[Example]] = {}
    for example in examples:
        groups.setdefault(len(example.source), []).append(example)
    return dict(sorted(groups.items()))


def length_batches(
    examples: Sequence[Example], size: int = 128, seed: int | None = None
) -> list[Batch]:
    """Batches of up to `size` pairs: equal source length, similar target length.

    With a seed the pairs and the batches are shuffled, as training wants it; without one the
    order is always the same.
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
