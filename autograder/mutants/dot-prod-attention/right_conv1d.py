import torch
from torch import nn


class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.out = nn.Conv1d(2 * hidden_size, hidden_size, kernel_size=1)

    def forward(self, query, states):
        scores = query @ states.transpose(1, 2)
        weights = torch.softmax(scores, dim=-1)
        context = weights @ states
        joined = torch.cat([context, query], dim=-1).transpose(1, 2)
        return torch.tanh(self.out(joined)).transpose(1, 2), weights
