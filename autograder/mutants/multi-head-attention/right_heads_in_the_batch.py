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

    def fold(self, x):
        return torch.cat(x.chunk(self.num_heads, dim=-1))

    def forward(self, query, key, value, mask=None):
        B, T, S = len(query), query.shape[1], key.shape[1]
        check_mask(mask, T, S, batch=B)
        Q, K, V = self.fold(self.W_Q(query)), self.fold(self.W_K(key)), self.fold(self.W_V(value))
        scores = torch.bmm(Q, K.mT) / Q.size(-1) ** 0.5
        if mask is not None:
            many = mask.expand(B, T, S).repeat(self.num_heads, 1, 1)
            scores[~many] = -torch.inf
        weights = scores.softmax(-1)
        joined = torch.cat(torch.bmm(weights, V).chunk(self.num_heads), dim=-1)
        return self.W_O(joined), weights.view(self.num_heads, B, T, S).transpose(0, 1)
