import torch


def causal_mask(L):
    t = torch.arange(L)
    return t[None, :] <= t[:, None]
