# misconception: none
import torch


def rotate(x, first=0, base=10000.0):
    H, d = x.shape[1], x.shape[-1]
    if d % 2:
        raise ValueError(f"odd size {d}")
    angles = torch.arange(first, first + H)[:, None, None] * base ** (-torch.arange(0, d, 2) / d)
    cos, sin = angles.cos().to(x), angles.sin().to(x)
    one, other = x[..., ::2], x[..., 1::2]
    return torch.stack([one * cos - other * sin, one * sin + other * cos], dim=-1).flatten(-2)
