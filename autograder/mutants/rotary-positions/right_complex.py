import torch


def rotate(x, first=0, base=10000.0):
    *_, T, d = x.shape
    if d % 2:
        raise ValueError(f"{d} columns can't be paired")
    speeds = base ** (-torch.arange(0, d, 2) / d)
    angles = torch.outer(torch.arange(first, first + T), speeds).to(x.dtype)
    turns = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], d // 2, 2).contiguous())
    return torch.view_as_real(pairs * turns).flatten(-2)
