import torch
import torch.nn.functional as F
from torch import nn

from course_utils.transformer import check_mask


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        for name in "QKVO":
            setattr(self, f"W_{name}", nn.Linear(d_model, d_model))

    def forward(self, query, key, value, mask=None):
        check_mask(mask, query.shape[1], key.shape[1], len(query))
        q, k, v = (
            w(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for w, x in ((self.W_Q, query), (self.W_K, key), (self.W_V, value))
        )
        wide = mask[:, None] if mask is not None and mask.dim() == 3 else mask
        joined = F.scaled_dot_product_attention(q, k, v, attn_mask=wide)
        z = q @ k.mT * q.shape[-1] ** -0.5
        if wide is not None:
            z = z.masked_fill(~wide, -torch.inf)
        return self.W_O(joined.transpose(1, 2).flatten(2)), z.softmax(-1)
