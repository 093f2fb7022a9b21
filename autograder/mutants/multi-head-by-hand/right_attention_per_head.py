import torch


def multi_head_by_hand(X, W_Q, W_K, W_V, W_O):
    H, D, d = W_K.shape
    L, dv = len(X), W_V.shape[2]
    joined = torch.zeros(L, H * dv)
    for h in range(H):
        queries = [W_Q[h].T @ x for x in X]
        keys = [W_K[h].T @ x for x in X]
        values = [W_V[h].T @ x for x in X]
        for i in range(L):
            powers = [torch.exp(queries[i] @ k / d**0.5) for k in keys]
            for p, v in zip(powers, values):
                joined[i, h * dv : (h + 1) * dv] += p / sum(powers) * v
    return torch.stack([row @ W_O for row in joined])
