# misconception: upper-triangle
import torch


def causal_mask(L):
    return torch.triu(torch.ones(L, L)).bool()
