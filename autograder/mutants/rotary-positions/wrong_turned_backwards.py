# misconception: turned-backwards
import torch


def rotate(x, first=0, base=10000.0):
    T, d = x.shape[2], x.shape[3]
    if d % 2 == 1:
        raise ValueError(f"d = {d} is odd")
    half = torch.arange(d // 2, dtype=x.dtype)
    speeds = base ** (-2 * half / d)
    start = first
    positions = torch.arange(T, dtype=x.dtype) + start
    angles = positions[:, None] * speeds[None, :]
    cos, sin = torch.cos(angles), -torch.sin(angles)
    one, other = x[..., 0::2], x[..., 1::2]
    result = torch.empty_like(x)
    result[..., 0::2] = one * cos - other * sin
    result[..., 1::2] = one * sin + other * cos
    return result
