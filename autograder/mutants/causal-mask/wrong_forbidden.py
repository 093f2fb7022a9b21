# misconception: true-where-forbidden
import torch


def causal_mask(L):
    return torch.triu(torch.ones(L, L), diagonal=1).bool()
