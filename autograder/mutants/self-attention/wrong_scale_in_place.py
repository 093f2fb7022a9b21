# misconception: changes-its-input
import torch

from course_utils.transformer import check_mask


def self_attention(X, W_Q, W_K, W_V, mask=None):
    check_mask(mask, len(X), len(X))
    with torch.no_grad():
        X /= W_K.shape[1] ** 0.25
    scores = (X @ W_Q) @ (X @ W_K).T
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ (X @ W_V) * W_K.shape[1] ** 0.25, weights
