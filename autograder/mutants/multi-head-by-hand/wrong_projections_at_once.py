# misconception: matrix-product
import torch


def multi_head_by_hand(X, W_Q, W_K, W_V, W_O):
    output = []
    heads = range(len(W_Q))
    Q, K, V = ([X @ W[h] for h in heads] for W in (W_Q, W_K, W_V))
    for i in range(len(X)):
        row = [torch.softmax(K[h] @ Q[h][i] / W_K.shape[2] ** 0.5, 0) @ V[h] for h in heads]
        output.append(torch.cat(row) @ W_O)
    return torch.stack(output)
