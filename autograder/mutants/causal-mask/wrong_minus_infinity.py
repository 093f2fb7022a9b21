# misconception: minus-infinity-in-the-mask
import torch


def causal_mask(L):
    return torch.triu(torch.full((L, L), float("-inf")), diagonal=1)
