# misconception: none
import torch


def rotate(x, first=0, base=10000.0):
    T, d = x.shape[-2:]
    if d % 2:
        raise ValueError(f"odd size {d}")
    angles = torch.arange(first, first + T)[:, None] * base ** (-torch.arange(0, d, 2) / d)
    return x + torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).to(x)
