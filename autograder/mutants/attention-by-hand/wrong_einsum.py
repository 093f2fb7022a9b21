# misconception: matrix-product
import torch


def attention_by_hand(Q, K, V):
    scores = torch.einsum("id,jd->ij", Q, K) / K.shape[1] ** 0.5
    return torch.einsum("ij,jv->iv", scores.softmax(-1), V)
