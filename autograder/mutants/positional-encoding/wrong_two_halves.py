# misconception: two-halves
import torch


def positional_encoding(L, d_model):
    if d_model % 2:
        raise ValueError(f"d_model is {d_model}, but it must be even")
    angle = torch.arange(L)[:, None] / 10_000 ** (2 * torch.arange(d_model // 2) / d_model)
    return torch.cat([torch.sin(angle), torch.cos(angle)], dim=1)
