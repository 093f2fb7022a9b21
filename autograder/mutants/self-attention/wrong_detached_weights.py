# misconception: graph-cut
import math

import torch

from course_utils.transformer import check_mask


def self_attention(X, W_Q, W_K, W_V, mask=None):
    check_mask(mask, len(X), len(X))
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    scores = Q @ K.T / math.sqrt(K.shape[1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights.detach() @ V, weights
