import torch
import torch.nn.functional as F


def self_attention(X, W_Q, W_K, W_V, mask=None):
    L = X.shape[0]
    if mask is not None:
        if mask.dtype != torch.bool:
            raise TypeError("the mask must be bool")
        if mask.shape != (L, L):
            raise ValueError(f"mask is {tuple(mask.shape)}, wanted {(L, L)}")
        for row in range(L):
            if not mask[row].any():
                raise ValueError(f"row {row} sees nothing")
    q = torch.einsum("ld,dk->lk", X, W_Q)
    k = torch.einsum("ld,dk->lk", X, W_K)
    v = torch.einsum("ld,dk->lk", X, W_V)
    z = torch.einsum("tk,sk->ts", q, k) * q.size(-1) ** -0.5
    if mask is not None:
        z = torch.where(mask, z, torch.tensor(-1e30, dtype=z.dtype))
    a = F.softmax(z, -1)
    return torch.einsum("ts,sd->td", a, v), a
