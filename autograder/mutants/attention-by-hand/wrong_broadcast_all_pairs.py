# misconception: matrix-product
import torch


def attention_by_hand(Q, K, V):
    scores = (Q[:, None, :] * K[None, :, :]).sum(-1) / K.shape[1] ** 0.5
    weights = scores.softmax(-1)
    return (weights[:, :, None] * V[None]).sum(1)
