"""Memories of a known size, without any training: how many pairs they return (notebook 07).

A memory is given N pairs of a key and a value, both vectors of d numbers, and then asked for the
value of each key. Keys have length 1. The three matrix memories keep d x d numbers, however many
pairs there are; attention keeps all pairs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from course_utils.measured import FOLDER

# Written by benchmarks/memory_recall.py.
MEMORY = FOLDER / "memory.csv"
SHARPNESS = 64.0  # of the softmax; a key has the product 1 with itself, and less with others
NUM_VALUES = 16

Memory = Callable[[Tensor, Tensor], Tensor]


# --- the memories: keys [..., N, d] and values [..., N, d] to what is found for each key ------


def plain_sum(keys: Tensor, values: Tensor) -> Tensor:
    """M = sum of v k^T, read as M k: linear attention. Other pairs are added to each answer."""
    matrix = values.mT @ keys
    return keys @ matrix.mT


def delta_rule(keys: Tensor, values: Tensor, passes: int = 1) -> Tensor:
    """Each pair corrects what the matrix returns so far: M <- M + (v - M k) k^T."""
    matrix = torch.zeros(*keys.shape[:-2], values.shape[-1], keys.shape[-1], dtype=keys.dtype)
    for _ in range(passes):
        for n in range(keys.shape[-2]):
            key, value = keys[..., n, :, None], values[..., n, :, None]
            matrix = matrix + (value - matrix @ key) @ key.mT
    return keys @ matrix.mT


def least_squares(keys: Tensor, values: Tensor) -> Tensor:
    """The matrix with the least squared error: no linear memory can do better."""
    matrix = values.mT @ torch.linalg.pinv(keys.mT)
    return keys @ matrix.mT


def attention(keys: Tensor, values: Tensor) -> Tensor:
    """Softmax attention of each key to all pairs. It keeps them all."""
    return torch.softmax(SHARPNESS * keys @ keys.mT, dim=-1) @ values


def values_only(keys: Tensor, values: Tensor) -> Tensor:
    """The mean of all values: the best answer without looking at the keys."""
    return values.mean(-2, keepdim=True).expand_as(values)


MEMORIES: dict[str, Memory] = {
    "plain sum": plain_sum,
    "delta rule, 1 pass": delta_rule,
    "delta rule, 100 passes": lambda keys, values: delta_rule(keys, values, 100),
    "least squares": least_squares,
    "attention": attention,
    "values only": values_only,
}


def numbers_kept(memory: str, pairs: int, size: int) -> int:
    """How many numbers a memory has to carry along."""
    if memory == "values only":
        return size
    return 2 * pairs * size if memory == "attention" else size * size


# --- what they can reach ----------------------------------------------------------------------


def linear_bound(pairs: int, size: int) -> float:
    """The squared error of the best linear memory for random values: 1 - d/N, or 0 up to d pairs.

    A d x d matrix returns at most d independent vectors exactly. Of N random values it keeps
    the part in d of N directions.
    """
    return max(0.0, 1 - size / pairs)


def random_stored_value(pairs: int, num_values: int = NUM_VALUES) -> float:
    """How often one of the stored values, taken at random, is the value that was asked for.

    It is the right pair with 1/N; any other pair has the same value by chance.
    """
    return 1 / pairs + (1 - 1 / pairs) / num_values


@functools.cache
def commonest_stored_value(pairs: int, num_values: int = NUM_VALUES) -> float:
    """How often the commonest stored value is right: the best answer that ignores the keys.

    It is the expected largest count among N draws, over N.
    """
    expected = sum(1 - _all_counts_up_to(most, pairs, num_values) for most in range(pairs))
    return expected / pairs


def _all_counts_up_to(most: int, pairs: int, num_values: int) -> float:
    """The probability that none of the values is drawn more than `most` times.

    Counts of N draws are independent Poisson counts, given that their sum is N.
    """

    def poisson(mean: float, counts: int) -> np.ndarray:
        n = np.arange(counts)
        return np.exp(n * math.log(mean) - mean - np.array([math.lgamma(k + 1) for k in n]))

    one_value = poisson(pairs / num_values, most + 1)
    sums = np.ones(1)
    for _ in range(num_values):
        sums = np.convolve(sums, one_value)[: pairs + 1]
    reached = sums[pairs] if len(sums) > pairs else 0.0
    return float(reached / poisson(pairs, pairs + 1)[pairs])


# --- one measured point -----------------------------------------------------------------------


@dataclass(frozen=True)
class MemoryPoint:
    """What a memory of N pairs returns: the mean over `trials` drawn sets of pairs.

    squared_error  relative: 0 is exact, 1 is as bad as answering nothing; values are random
    recall         the share right where each value is one of 16 vectors, the nearest one taken
    """

    memory: str
    size: int
    pairs: int
    trials: int
    seed: int
    numbers_kept: int
    squared_error: float
    linear_bound: float
    recall: float
    random_stored_value: float
    commonest_stored_value: float


def memory_point(
    memory: str, size: int, pairs: int, *, trials: int = 100, seed: int = 0
) -> MemoryPoint:
    """Fill a memory with random pairs, and ask for all of them."""
    if memory not in MEMORIES:
        raise ValueError(f"The memory is {memory!r}, but it must be one of {', '.join(MEMORIES)}.")
    generator = torch.Generator().manual_seed(seed)
    keys = torch.randn(trials, pairs, size, generator=generator)
    keys = keys / keys.norm(dim=-1, keepdim=True)
    values = torch.randn(trials, pairs, size, generator=generator)
    found = MEMORIES[memory](keys, values)
    error = (found - values).square().sum() / values.square().sum()
    known = torch.randn(trials, NUM_VALUES, size, generator=generator)
    known = known / known.norm(dim=-1, keepdim=True)
    chosen = torch.randint(NUM_VALUES, (trials, pairs), generator=generator)
    stored = known.gather(1, chosen[..., None].expand(-1, -1, size))
    named = (MEMORIES[memory](keys, stored) @ known.mT).argmax(-1)
    return MemoryPoint(
        memory,
        size,
        pairs,
        trials,
        seed,
        numbers_kept(memory, pairs, size),
        round(float(error), 4),
        round(linear_bound(pairs, size), 4),
        round(float((named == chosen).float().mean()), 4),
        round(random_stored_value(pairs), 4),
        round(commonest_stored_value(pairs), 4),
    )
