# misconception: heads-interleaved
import torch


def multi_head_by_hand(X, W_Q, W_K, W_V, W_O):
    output = []
    for x_i in X:
        heads = []
        for h in range(len(W_Q)):
            q = x_i @ W_Q[h]
            scores = torch.stack([q @ (x_j @ W_K[h]) for x_j in X]) / W_K.shape[2] ** 0.5
            weights = torch.softmax(scores, dim=0)
            heads.append(sum(p * (x_j @ W_V[h]) for p, x_j in zip(weights, X)))
        output.append(torch.stack(heads, dim=1).reshape(-1) @ W_O)
    return torch.stack(output)
