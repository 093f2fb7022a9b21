import torch
import torch.nn.functional as F
from torch import nn


class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.out = nn.Linear(2 * hidden_size, hidden_size)

    def forward(self, query, states):
        import warnings

        warnings.warn("just so you know")
        B, T, S = query.shape[0], query.shape[1], states.shape[1]
        scores = (query @ states.transpose(1, 2)).reshape(B * T, S)
        weights = F.softmax(scores).reshape(B, T, S)
        context = weights @ states
        return torch.tanh(self.out(torch.cat([context, query], dim=-1))), weights
