import torch


def causal_mask(L):
    mask = torch.zeros(L, L, dtype=torch.bool)
    for t in range(L):
        for s in range(t + 1):
            mask[t, s] = True
    return mask
