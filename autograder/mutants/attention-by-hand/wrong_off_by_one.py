# misconception: none
import torch


def attention_by_hand(Q, K, V):
    rows = []
    for q in Q:
        weights = torch.softmax(K[:-1] @ q / K.shape[1] ** 0.5, dim=0)
        rows.append(weights @ V[:-1])
    return torch.stack(rows)
