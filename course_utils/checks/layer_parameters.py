"""Draws the parameters that the checks of the transformer's layers fill in, by name."""

import numpy as np


def matrix(rng, name: str, rows: int, columns: int) -> dict:
    return {
        f"{name}.weight": rng.standard_normal((rows, columns)) / np.sqrt(columns),
        f"{name}.bias": 0.3 * rng.standard_normal(rows),
    }


def attention(rng, name: str, D: int) -> dict:
    return {
        f"{name}.in_proj_weight": 1.2 * rng.standard_normal((3 * D, D)) / np.sqrt(D),
        f"{name}.in_proj_bias": 0.3 * rng.standard_normal(3 * D),
    } | matrix(rng, f"{name}.out_proj", D, D)


def norm(rng, name: str, D: int) -> dict:
    return {
        f"{name}.weight": rng.uniform(0.5, 1.5, D),
        f"{name}.bias": 0.3 * rng.standard_normal(D),
    }


def layer(rng, D: int, d_ff: int, prefix: str = "", decoder: bool = False) -> dict:
    """All parameters of an encoder layer, or of a decoder layer."""
    drawn = attention(rng, f"{prefix}attention", D)
    if decoder:
        drawn |= attention(rng, f"{prefix}cross_attention", D)
    drawn |= matrix(rng, f"{prefix}feed_forward.0", d_ff, D)
    drawn |= matrix(rng, f"{prefix}feed_forward.2", D, d_ff)
    for number in range(1, 4 if decoder else 3):
        drawn |= norm(rng, f"{prefix}norm{number}", D)
    return drawn


def some_mask(rng, *shape: int) -> np.ndarray:
    """Each row allows something and forbids something."""
    mask = rng.random(shape) < 0.5
    for number, row in enumerate(mask.reshape(-1, shape[-1])):
        row[number % len(row)], row[(number + 2) % len(row)] = True, False
    return mask
