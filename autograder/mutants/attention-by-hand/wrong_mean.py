# misconception: mean
import torch


def attention_by_hand(Q, K, V):
    return torch.stack([V.mean(0) for q in Q])
