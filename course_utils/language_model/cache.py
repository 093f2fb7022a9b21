"""A student's attention in the place of PyTorch's, with the same weights."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.language_model.model import LanguageModel


class InPlace(nn.Module):
    """Takes the place of nn.MultiheadAttention in a layer, and asks another attention."""

    batch_first = False  # tells the layer not to take the short cut that goes past `forward`

    def __init__(self, attend: Callable[[Tensor], Tensor]):
        super().__init__()
        self.attend = attend

    def forward(self, query: Tensor, key: Tensor, value: Tensor, **others):
        return self.attend(query), None


@contextlib.contextmanager
def with_cache(model: LanguageModel, attention: type[nn.Module]) -> Iterator[list[nn.Module]]:
    """Inside the block the model uses `attention(d_model, num_heads)`, with its own weights.

    Gives the new modules, so that they can be reset.
    """
    before = [layer.self_attn for layer in model.layers]
    modules = []
    for layer in model.layers:
        module = attention(model.sizes.d_model, model.sizes.num_heads)
        copy_weights(layer.self_attn, module)
        modules.append(module.to(next(model.parameters()).device).eval())
        layer.self_attn = InPlace(module)
    try:
        yield modules
    finally:
        for layer, attention_before in zip(model.layers, before):
            layer.self_attn = attention_before


def copy_weights(source: nn.MultiheadAttention, target: Any) -> None:
    """Give a module with W_Q, W_K, W_V and W_O the weights of PyTorch's own."""
    matrices, biases = source.in_proj_weight.chunk(3), source.in_proj_bias.chunk(3)
    with torch.no_grad():
        for name, matrix, bias in zip(("W_Q", "W_K", "W_V"), matrices, biases):
            getattr(target, name).weight.copy_(matrix)
            getattr(target, name).bias.copy_(bias)
        target.W_O.weight.copy_(source.out_proj.weight)
        target.W_O.bias.copy_(source.out_proj.bias)
