import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.d, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError(f"{d_model} is no multiple of {num_heads}")
        self.num_heads = num_heads
        self.W_Q, self.W_K, self.W_V, self.W_O = (nn.Linear(d_model, d_model) for _ in range(4))
        self.never_used = nn.Linear(3, 3)

    def forward(self, query, key, value, mask=None):
        T, S = query.shape[1], key.shape[1]
        if mask is not None:
            if mask.dtype is not torch.bool:
                raise TypeError("bool, please")
            if mask.shape[-2:] != (T, S):
                raise ValueError(f"mask {tuple(mask.shape)} does not end in {T}, {S}")
            sees = mask.any(-1)
            if not sees.all():
                raise ValueError(f"rows {(~sees).nonzero().tolist()} see nothing")
        q, k, v = self.W_Q(query), self.W_K(key), self.W_V(value)
        heads, maps = [], []
        for h in range(self.num_heads):
            part = slice(h * self.d, (h + 1) * self.d)
            z = torch.einsum("btd,bsd->bts", q[..., part], k[..., part]) / self.d**0.5
            if mask is not None:
                z = z.masked_fill(mask.logical_not(), -1e9)
            maps.append(z.softmax(-1))
            heads.append(maps[-1] @ v[..., part])
        return self.W_O(torch.cat(heads, -1)), torch.stack(maps, 1)
