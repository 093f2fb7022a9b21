# misconception: mask-after-softmax
import torch

from course_utils.transformer import check_mask


def self_attention(X, W_Q, W_K, W_V, mask=None):
    check_mask(mask, len(X), len(X))
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    weights = torch.softmax(Q @ K.T / K.shape[1] ** 0.5, dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights @ V, weights
