# misconception: mean-of-groups
import math

import torch


def grouped_attention(query, key, value, mask=None):
    H, G, d = query.shape[1], key.shape[1], query.shape[-1]
    if H % G != 0:
        raise ValueError(f"{H} heads, {G} groups")
    share = torch.arange(H) // (H // G)
    key, value = (z.mean(1, keepdim=True).expand(-1, H, -1, -1) for z in (key, value))
    scores = query @ key.transpose(-2, -1) / math.sqrt(d)
    allowed = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    scores = torch.where(allowed, scores, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value
