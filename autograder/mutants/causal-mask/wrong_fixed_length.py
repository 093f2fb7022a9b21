# misconception: none
import torch


def causal_mask(L):
    return torch.tril(torch.ones(7, 7)).bool()
