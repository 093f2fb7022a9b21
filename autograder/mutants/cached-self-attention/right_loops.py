import torch
from torch import nn


class CachedSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.W_Q = nn.Linear(d_model, d_model)
        self.W_K = nn.Linear(d_model, d_model)
        self.W_V = nn.Linear(d_model, d_model)
        self.W_O = nn.Linear(d_model, d_model)
        self.reset()

    def reset(self):
        self.keys = []
        self.values = []

    def forward(self, x):
        outputs = []
        for t in range(x.shape[1]):
            new = x[:, t]
            self.keys.append(self.W_K(new))
            self.values.append(self.W_V(new))
            query = self.W_Q(new)
            heads = []
            for q, k, v in zip(
                query.chunk(self.num_heads, dim=-1),
                torch.stack(self.keys, dim=1).chunk(self.num_heads, dim=-1),
                torch.stack(self.values, dim=1).chunk(self.num_heads, dim=-1),
            ):
                scores = (k * q[:, None]).sum(-1) / q.shape[-1] ** 0.5
                print("scores", scores.shape)
                heads.append((scores.softmax(-1)[..., None] * v).sum(1))
            outputs.append(self.W_O(torch.cat(heads, dim=-1)))
        return torch.stack(outputs, dim=1)
