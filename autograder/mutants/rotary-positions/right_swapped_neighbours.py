import torch


def rotate(x, first=0, base=10000.0):
    T, d = x.shape[-2:]
    if d % 2:
        raise ValueError(f"odd size {d}")
    speeds = base ** (-torch.arange(0, d, 2) / d)
    angles = (torch.arange(first, first + T)[:, None] * speeds).repeat_interleave(2, dim=-1)
    partner = torch.stack([-x[..., 1::2], x[..., ::2]], dim=-1).reshape(x.shape)
    return x * angles.cos().to(x) + partner * angles.sin().to(x)
