import torch
from torch import nn


class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.W_c = nn.Linear(2 * hidden_size, hidden_size)

    def forward(self, query, states):
        (B, T, D), S = query.shape, states.shape[1]
        scores = query @ states.transpose(1, 2)
        scores = scores / 1
        weights = torch.softmax(scores, dim=2)
        context = weights @ states
        joined = torch.cat([context, query], dim=-1)
        output = torch.tanh(self.W_c(joined))
        return output, weights
