# misconception: no-sum
import torch


def attention_by_hand(Q, K, V):
    return torch.stack([torch.exp(K @ q / K.shape[1] ** 0.5) @ V for q in Q])
