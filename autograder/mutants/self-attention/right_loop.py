import torch

from course_utils.transformer import check_mask


def self_attention(X, W_Q, W_K, W_V, mask=None):
    check_mask(mask, X.shape[0], X.shape[0])
    outputs, rows = [], []
    for t in range(len(X)):
        q = X[t] @ W_Q
        scores = []
        for s in range(len(X)):
            score = q @ (X[s] @ W_K) / W_K.shape[1] ** 0.5
            if mask is not None and not mask[t, s]:
                score = score - float("inf")
            scores.append(score)
        weights = torch.stack(scores).softmax(0)
        rows.append(weights)
        outputs.append(sum(weights[s] * (X[s] @ W_V) for s in range(len(X))))
    return torch.stack(outputs), torch.stack(rows)
