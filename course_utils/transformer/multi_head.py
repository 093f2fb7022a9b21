"""PyTorch's multi-head attention with this course's masks and names, and a way to look inside."""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.transformer.masks import check_mask


class MultiHeadAttention(nn.MultiheadAttention):
    """`torch.nn.MultiheadAttention`, called as in notebook 05.

    forward(query [B, T, D], key [B, S, D], value [B, S, D], mask=None) gives the output
    [B, T, D] and the weights [B, num_heads, T, S]. The mask is True where attention is allowed:
    [T, S], [B, T, S] or [B, 1, S]. Weights cost time, so they are None outside `recording`.
    """

    def __init__(self, d_model: int, num_heads: int):
        if d_model % num_heads != 0:
            raise ValueError(f"d_model = {d_model} is not a multiple of num_heads = {num_heads}.")
        super().__init__(d_model, num_heads, batch_first=True)
        self.gives_weights = False

    def forward(  # type: ignore[override]  # called as in notebook 05, not as in PyTorch
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        (B, T, _), S = query.shape, key.shape[1]
        check_mask(mask, T, S, batch=B)
        if not self.gives_weights:
            return self.output_alone(query, key, value, mask), None
        forbidden = None if mask is None else ~mask
        if forbidden is not None and forbidden.dim() == 3:
            # torch expects one mask for each sequence and head.
            forbidden = forbidden.expand(B, T, S).repeat_interleave(self.num_heads, dim=0)
        return super().forward(
            query,
            key,
            value,
            attn_mask=forbidden,
            need_weights=True,
            average_attn_weights=False,
        )

    def output_alone(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> Tensor:
        """The same output from one fused call, without the weights.

        PyTorch's own module copies the mask for every head, and its inputs to put time first;
        on a CPU that is an eighth of the training time.
        """
        matrices, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        queries, keys, values = (
            F.linear(x, matrix, bias).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for x, matrix, bias in zip((query, key, value), matrices, biases, strict=True)
        )
        for_all_heads = mask[:, None] if mask is not None and mask.dim() == 3 else mask
        output = F.scaled_dot_product_attention(queries, keys, values, attn_mask=for_all_heads)
        return self.out_proj(output.transpose(1, 2).flatten(2))


@contextlib.contextmanager
def recording(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """Inside the block, the weights of every attention in the model are kept under its name.

    with recording(model) as maps:
        model(source, target)
    maps["encoder_layers.0.attention"]   # a list: one [B, num_heads, T, S] per call

    An attention is any part that returns an output and weights of that shape: ours or yours.
    """
    maps: dict[str, list[Tensor]] = {}

    def keep(name: str, module: nn.Module, inputs: tuple, result: Any) -> None:
        if isinstance(result, tuple) and len(result) == 2 and _are_weights(result[1]):
            maps.setdefault(name, []).append(result[1].detach())

    hooks = [m.register_forward_hook(partial(keep, name)) for name, m in model.named_modules()]
    ours = [m for m in model.modules() if isinstance(m, MultiHeadAttention)]
    try:
        for module in ours:
            module.gives_weights = True
        yield maps
    finally:
        for module in ours:
            module.gives_weights = False
        for hook in hooks:
            hook.remove()


@contextlib.contextmanager
def output_changed(attention: Any, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Inside the block, `change(W_O)` takes the place of an attention's output matrix W_O [D, D].

    It works for a student's class, which calls its last layer `W_O`, and for PyTorch's `out_proj`.
    """
    last = attention.W_O if hasattr(attention, "W_O") else attention.out_proj
    before = last.weight.detach().clone()
    try:
        with torch.no_grad():
            last.weight.copy_(change(before.clone()))
        yield
    finally:
        with torch.no_grad():
            last.weight.copy_(before)


def _are_weights(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dim() == 4


def in_torchs_names(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """A `state_dict` with the parts of every attention named and stacked as in PyTorch.

    `W_Q`, `W_K` and `W_V` of notebook 05 become one `in_proj`, and `W_O` is `out_proj`.
    """
    found = {}
    for name, value in state.items():
        front, middle, kind = name.rpartition("W_Q.")
        if middle:
            parts = [state[f"{front}{part}.{kind}"] for part in ("W_Q", "W_K", "W_V")]
            found[f"{front}in_proj_{kind}"] = torch.cat(parts)
        elif "W_K." not in name and "W_V." not in name:
            found[name.replace("W_O.", "out_proj.")] = value
    return found
