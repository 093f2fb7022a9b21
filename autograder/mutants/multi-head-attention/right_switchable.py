import math

import torch
from torch import nn

from course_utils.transformer.masks import check_mask


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model = {d_model} is no multiple of num_heads = {num_heads}")
        self.num_heads, self.d = num_heads, d_model // num_heads
        self.W_Q = nn.Linear(d_model, d_model)
        self.W_K = nn.Linear(d_model, d_model)
        self.W_V = nn.Linear(d_model, d_model)
        self.W_O = nn.Linear(d_model, d_model)

    def split(self, x):
        B, T, D = x.shape
        return x.view(B, T, self.num_heads, self.d).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        check_mask(mask, query.shape[1], key.shape[1], len(query))
        B, T, D = query.shape
        Q, K, V = self.W_Q(query), self.W_K(key), self.W_V(value)
        Q, K, V = self.split(Q), self.split(K), self.split(V)
        scores = Q @ K.transpose(-2, -1) / math.sqrt(self.d)
        if mask is not None:
            wide = mask[:, None] if mask.dim() == 3 else mask
            scores = scores.masked_fill(~wide, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        weights = weights + 0
        joined = (weights @ V).transpose(1, 2).reshape(B, T, D)
        output = self.W_O(joined)
        maps = weights
        return output, maps
