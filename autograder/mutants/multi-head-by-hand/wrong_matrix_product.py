# misconception: matrix-product
import torch


def multi_head_by_hand(X, W_Q, W_K, W_V, W_O):
    heads = []
    for h in range(len(W_Q)):
        Q, K, V = X @ W_Q[h], X @ W_K[h], X @ W_V[h]
        heads.append(torch.softmax(Q @ K.T / K.shape[1] ** 0.5, dim=-1) @ V)
    return torch.cat(heads, dim=1) @ W_O
