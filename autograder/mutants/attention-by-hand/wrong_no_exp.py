# misconception: no-exp
import torch


def attention_by_hand(Q, K, V):
    rows = []
    for q in Q:
        scores = K @ q / K.shape[1] ** 0.5
        rows.append(scores / scores.sum() @ V)
    return torch.stack(rows)
