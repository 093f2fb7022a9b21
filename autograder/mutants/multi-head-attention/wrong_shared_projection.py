# misconception: keys-projected-by-query-matrix
import math

import torch
from torch import nn

from course_utils.transformer import check_mask


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model = {d_model} cannot be cut into num_heads = {num_heads}")
        self.num_heads = num_heads
        self.W_Q = nn.Linear(d_model, d_model)
        self.W_K = nn.Linear(d_model, d_model)
        self.W_V = nn.Linear(d_model, d_model)
        self.W_O = nn.Linear(d_model, d_model)

    def split(self, x):
        B, L, D = x.shape
        return x.view(B, L, self.num_heads, D // self.num_heads).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        B, T, D = query.shape
        S = key.shape[1]
        check_mask(mask, T, S, batch=B)
        Q = self.split(self.W_Q(query))
        K = self.split(self.W_Q(key))
        V = self.split(self.W_V(value))
        scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
        if mask is not None:
            if mask.dim() == 3:
                mask = mask[:, None]
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = (weights @ V).transpose(1, 2).reshape(B, T, D)
        return self.W_O(output), weights
