"""What single heads of a decoder-only model do, measured from their maps and by silencing them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.language_model.byte_training import as_tokens
from course_utils.transformer.multi_head import recording

LETTERS = (33, 127)  # printable bytes


@dataclass(frozen=True)
class Head:
    """A head, and where its weight goes.

    previous    to the position just before, on real text
    induction   on random text that is repeated: to the byte that followed the first time
    """

    layer: int
    number: int
    previous: float
    induction: float

    @property
    def name(self) -> str:
        return f"{self.layer + 1}.{self.number + 1}"


def repeated(count: int, length: int, seed: int = 0) -> Tensor:
    """Random printable bytes, the same twice in a row: [count, 2 length]."""
    generator = torch.Generator().manual_seed(seed)
    once = torch.randint(*LETTERS, (count, length), generator=generator)
    return torch.cat([once, once], dim=1)


@torch.no_grad()
def maps_of(model: Any, tokens: Tensor) -> Tensor:
    """The weights of every layer and head for tokens [B, T]: [layers, B, num_heads, T, T]."""
    model.eval()
    with recording(model) as found:
        model(tokens)
    return torch.stack([found[f"layers.{n}.attention"][0] for n in range(len(model.layers))])


def measure_heads(model: Any, text: bytes, length: int = 48) -> list[Head]:
    """Both measures for every head."""
    rows = len(text) // (2 * length)
    real = maps_of(model, as_tokens(text[: rows * 2 * length]).view(rows, 2 * length))
    twice = maps_of(model, repeated(32, length))
    previous = real.diagonal(-1, dim1=-2, dim2=-1).mean(dim=(1, 3))
    # Position t of the second time: the same byte was at t - length, what followed at one more.
    induction = twice.diagonal(1 - length, dim1=-2, dim2=-1)[..., 1:].mean(dim=(1, 3))
    return [
        Head(layer, number, float(previous[layer, number]), float(induction[layer, number]))
        for layer in range(len(real))
        for number in range(real.shape[2])
    ]


@contextlib.contextmanager
def silenced(model: Any, layer: int, number: int) -> Iterator[None]:
    """Inside the block one head adds nothing: its columns of the output projection are zero."""
    attention = model.layers[layer].attention
    projection = attention.W_O if hasattr(attention, "W_O") else attention.out_proj
    size = projection.weight.shape[1] // attention.num_heads
    columns = projection.weight.data[:, number * size : (number + 1) * size]
    before = columns.clone()
    columns.zero_()
    try:
        yield
    finally:
        columns.copy_(before)


@torch.no_grad()
def loss_of_the_second_time(model: Any, length: int = 48) -> float:
    """The loss per byte of random text when it comes up for the second time."""
    model.eval()
    tokens = repeated(64, length, seed=1)
    logits = model(tokens)[:, length:-1]
    return float(F.cross_entropy(logits.flatten(0, 1), tokens[:, length + 1 :].flatten()))
