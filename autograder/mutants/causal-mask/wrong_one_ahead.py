# misconception: one-step-ahead
import torch


def causal_mask(L):
    return torch.tril(torch.ones(L, L), diagonal=1).bool()
