# misconception: each-column-its-own-rate
import torch


def positional_encoding(L, d_model):
    if d_model % 2:
        raise ValueError(f"d_model is {d_model}, but it must be even")
    angle = torch.arange(L)[:, None] / 10_000 ** (torch.arange(d_model) / d_model)
    even = torch.arange(d_model) % 2 == 0
    return torch.where(even, torch.sin(angle), torch.cos(angle))
