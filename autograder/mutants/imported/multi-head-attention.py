import torch
from torch import nn


class MultiHeadAttention(nn.MultiheadAttention):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads, batch_first=True)

    def forward(self, query, key, value, mask=None):
        forbidden = None if mask is None else ~mask
        return super().forward(query, key, value, attn_mask=forbidden, average_attn_weights=False)
