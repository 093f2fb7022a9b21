import functools

import torch
from torch import nn

from course_utils.transformer import check_mask


def one_head(Q, K, V, mask):
    scores = Q @ K.transpose(1, 2) / Q.shape[-1] ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, float("-inf"))
    weights = torch.softmax(scores, -1)
    return weights @ V, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model // num_heads * num_heads != d_model:
            raise ValueError("d_model %d, num_heads %d" % (d_model, num_heads))
        self.d = d_model // num_heads
        for name in ("W_Q", "W_K", "W_V", "W_O"):
            self.add_module(name, nn.Linear(d_model, d_model))

    def forward(self, query, key, value, mask=None):
        check_mask(mask, query.size(1), key.size(1), batch=query.size(0))
        cut = functools.partial(torch.split, split_size_or_sections=self.d, dim=-1)
        parts = zip(cut(self.W_Q(query)), cut(self.W_K(key)), cut(self.W_V(value)))
        results = [one_head(q, k, v, mask) for q, k, v in parts]
        output = self.W_O(torch.cat([out for out, _ in results], dim=-1))
        return output, torch.stack([weights for _, weights in results], dim=1)
