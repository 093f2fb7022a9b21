# misconception: own-call-missing
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
        self.keys = self.values = None

    def forward(self, x):
        B, T, D = x.shape
        cut = lambda z: z.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        query, key, value = cut(self.W_Q(x)), cut(self.W_K(x)), cut(self.W_V(x))
        if self.keys is None:
            self.keys, self.values = key[:, :, :0], value[:, :, :0]
        scores = query @ self.keys.mT / query.shape[-1] ** 0.5
        context = scores.softmax(-1) @ self.values
        self.keys = torch.cat([self.keys, key], 2)
        self.values = torch.cat([self.values, value], 2)
        return self.W_O(context.transpose(1, 2).flatten(2))
