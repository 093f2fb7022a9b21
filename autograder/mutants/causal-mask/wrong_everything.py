# misconception: all-allowed
import torch


def causal_mask(L):
    return torch.ones(L, L, dtype=torch.bool)
