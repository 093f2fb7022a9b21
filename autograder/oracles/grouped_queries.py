"""Attention head by head, each with the keys of its group, and what the known mistakes give."""

import numpy as np

from autograder.oracles.blocks import right_arrays, weights_of
from course_utils.checks.judge import Mistakes
from course_utils.checks.wire import Ask


def of_group(array: np.ndarray, head: int, num_heads: int, mistakes: Mistakes) -> np.ndarray:
    """[B, groups, S, d] -> what one head reads, [B, S, d]."""
    groups = array.shape[1]
    if "mean-of-groups" in mistakes:
        return array.mean(axis=1)
    if "first-group-for-all" in mistakes:
        return array[:, 0]
    in_turn = "groups-in-turn" in mistakes
    return array[:, head % groups if in_turn else head // (num_heads // groups)]


def outputs(ask: Ask, mistakes: Mistakes) -> list[np.ndarray]:
    query, key, value, mask = (ask.options["args"] + [None])[:4]
    num_heads, heads = query.shape[1], []
    for head in range(num_heads):
        K, V = (of_group(array, head, num_heads, mistakes) for array in (key, value))
        weights = weights_of(query[:, head], K, mask, mistakes)
        with np.errstate(all="ignore"):
            heads.append(weights @ (K if "keys-as-values" in mistakes else V))
    return [np.stack(heads, axis=1)]


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    return {} if ask.label.startswith("bad") else right_arrays(outputs, ask)
