import torch


def rotate(x, first=0, base=10000.0):
    B, H, T, d = x.shape
    if d % 2 != 0:
        raise ValueError("d must be even, not " + str(d))
    out = []
    for t in range(T):
        angles = (first + t) * torch.tensor([base ** (-2 * i / d) for i in range(d // 2)])
        blocks = [
            torch.stack([torch.stack([a.cos(), -a.sin()]), torch.stack([a.sin(), a.cos()])])
            for a in angles
        ]
        out.append(x[:, :, t] @ torch.block_diag(*blocks).T.to(x.dtype))
    return torch.stack(out, dim=2)
