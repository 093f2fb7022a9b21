# misconception: none
import torch


def attention_by_hand(Q, K, V):
    return torch.zeros_like(V)
