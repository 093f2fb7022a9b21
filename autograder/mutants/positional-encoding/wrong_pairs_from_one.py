# misconception: pairs-count-from-one
import torch


def positional_encoding(L, d_model):
    if d_model % 2:
        raise ValueError(f"d_model is {d_model}, but it must be even")
    t = torch.arange(L)[:, None]
    i = torch.arange(1, d_model // 2 + 1)[None, :]
    angle = t / 10_000 ** (2 * i / d_model)
    table = torch.zeros(L, d_model)
    table[:, 0::2] = torch.sin(angle)
    table[:, 1::2] = torch.cos(angle)
    return table
