# misconception: softmax-over-everything
import torch


def attention_by_hand(Q, K, V):
    scores = torch.stack([K @ q / K.shape[1] ** 0.5 for q in Q])
    weights = scores.exp() / scores.exp().sum()
    return torch.stack([row @ V for row in weights])
