import math

import torch

from course_utils.transformer.masks import check_mask


def self_attention(X, W_Q, W_K, W_V, mask=None):
    check_mask(mask, len(X), len(X))
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    scores = Q @ K.T
    scores = scores / math.sqrt(Q.shape[1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    weights = weights + 0
    output = weights @ V
    return output, weights
