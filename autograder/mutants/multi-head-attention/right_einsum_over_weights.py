import torch
from torch import nn

from course_utils.transformer import check_mask


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{num_heads} heads do not divide {d_model}")
        self.num_heads = num_heads
        self.W_Q, self.W_K, self.W_V, self.W_O = (nn.Linear(d_model, d_model) for _ in range(4))

    def per_head(self, layer, x):
        W = layer.weight.unflatten(0, (self.num_heads, -1))
        b = layer.bias.unflatten(0, (self.num_heads, -1))
        return torch.einsum("bld,hed->bhle", x, W) + b[:, None]

    def forward(self, query, key, value, mask=None):
        check_mask(mask, query.shape[1], key.shape[1], batch=query.shape[0])
        Q, K, V = (
            self.per_head(layer, x)
            for layer, x in ((self.W_Q, query), (self.W_K, key), (self.W_V, value))
        )
        z = torch.einsum("bhtd,bhsd->bhts", Q, K) * Q.shape[-1] ** -0.5
        if mask is not None:
            added = torch.zeros_like(mask, dtype=z.dtype).masked_fill(mask.logical_not(), -1e9)
            z = z + (added if mask.ndim == 2 else added[:, None])
        weights = z.softmax(dim=-1)
        return self.W_O(torch.einsum("bhts,bhsd->bthd", weights, V).flatten(2)), weights
