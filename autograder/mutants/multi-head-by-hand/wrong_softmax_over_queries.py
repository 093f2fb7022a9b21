# misconception: softmax-over-queries
import torch


def multi_head_by_hand(X, W_Q, W_K, W_V, W_O):
    output = [[] for _ in X]
    for h in range(len(W_Q)):
        queries, keys = [x @ W_Q[h] for x in X], [x @ W_K[h] for x in X]
        columns = [torch.stack([q @ k for q in queries]) / len(queries[0]) ** 0.5 for k in keys]
        columns = [torch.softmax(c, dim=0) for c in columns]
        for i in range(len(X)):
            output[i].append(sum(c[i] * (x @ W_V[h]) for c, x in zip(columns, X)))
    return torch.stack([torch.cat(row) @ W_O for row in output])
