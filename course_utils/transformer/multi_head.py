"""PyTorch's multi-head attention with this course's masks and names, and a way to see its maps."""

import contextlib
from collections.abc import Iterator

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
        self.keeps_weights = False
        self.weights: list[Tensor] = []

    def forward(  # type: ignore[override]  # called as in notebook 05, not as in PyTorch
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        (B, T, _), S = query.shape, key.shape[1]
        check_mask(mask, T, S, batch=B)
        if not self.keeps_weights:
            return self.output_alone(query, key, value, mask), None
        forbidden = None if mask is None else ~mask
        if forbidden is not None and forbidden.dim() == 3:
            # torch wants one mask for each sequence and head.
            forbidden = forbidden.expand(B, T, S).repeat_interleave(self.num_heads, dim=0)
        output, weights = super().forward(
            query,
            key,
            value,
            attn_mask=forbidden,
            need_weights=True,
            average_attn_weights=False,
        )
        self.weights.append(weights.detach())
        return output, weights

    def output_alone(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> Tensor:
        """The same output from one fused call, without the weights.

        PyTorch's own module copies the mask for every head, and its inputs to put time first;
        on a CPU that is an eighth of the training time.
        """
        matrices, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        heads = [
            F.linear(x, matrix, bias).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for x, matrix, bias in zip((query, key, value), matrices, biases, strict=True)
        ]
        for_all_heads = mask[:, None] if mask is not None and mask.dim() == 3 else mask
        output = F.scaled_dot_product_attention(*heads, attn_mask=for_all_heads)
        return self.out_proj(output.transpose(1, 2).flatten(2))


@contextlib.contextmanager
def recording(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """Inside the block, every attention of the model keeps its weights, by its name.

    with recording(model) as maps:
        model(source, target)
    maps["encoder_layers.0.attention"]   # a list: one [B, num_heads, T, S] for each call
    """
    found = {n: m for n, m in model.named_modules() if isinstance(m, MultiHeadAttention)}
    maps = {name: module.weights for name, module in found.items()}
    for module in found.values():
        module.weights.clear()
        module.keeps_weights = True
    try:
        yield maps
    finally:
        for module in found.values():
            module.keeps_weights = False
            module.weights = []
