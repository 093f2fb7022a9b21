# misconception: none
import torch


def multi_head_by_hand(X, W_Q, W_K, W_V, W_O):
    return torch.zeros(len(X), W_O.shape[1])
