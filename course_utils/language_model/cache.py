"""Puts a student's cached attention in place of a model's own, with the same parameters."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn


class InPlace(nn.Module):
    """Stands in for an attention that gets query, key and value, and calls another one."""

    batch_first = False  # tells PyTorch's layer not to take the short cut that goes past `forward`

    def __init__(self, attend: Callable[[Tensor], Tensor]):
        super().__init__()
        self.attend = attend

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask=None, **others):
        return self.attend(query), None


@contextlib.contextmanager
def with_cache(model: Any, attention: type[nn.Module]) -> Iterator[list[nn.Module]]:
    """Inside the block the model uses `attention(d_model, num_heads)`, with its own parameters.

    `model` is a DecoderOnly: each of its layers has an `attention`. Yields the new modules, so
    that they can be reset.
    """
    before = [layer.attention for layer in model.layers]
    modules = []
    for layer in model.layers:
        module = attention(model.tokens.embedding_dim, _heads_of(layer.attention))
        module.to(model.tokens.weight).eval()
        copy_weights(layer.attention, module)
        modules.append(module)
        layer.attention = InPlace(module)
    try:
        yield modules
    finally:
        for layer, attention_before in zip(model.layers, before):
            layer.attention = attention_before


def _heads_of(attention: Any) -> int:
    if not hasattr(attention, "num_heads"):
        raise ValueError(
            f"Your {type(attention).__name__} has no num_heads. Store the number of heads as "
            "self.num_heads, and build the model again."
        )
    return attention.num_heads


def copy_weights(source: Any, target: Any) -> None:
    """Give a module with W_Q, W_K, W_V and W_O the parameters of another, or of PyTorch's."""
    if hasattr(source, "W_Q"):
        target.load_state_dict(source.state_dict())
        return
    matrices, biases = source.in_proj_weight.chunk(3), source.in_proj_bias.chunk(3)
    with torch.no_grad():
        for name, matrix, bias in zip(("W_Q", "W_K", "W_V"), matrices, biases):
            getattr(target, name).weight.copy_(matrix)
            getattr(target, name).bias.copy_(bias)
        target.W_O.weight.copy_(source.out_proj.weight)
        target.W_O.bias.copy_(source.out_proj.bias)
