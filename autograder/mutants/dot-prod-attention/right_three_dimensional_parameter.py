import torch
from torch import nn


class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.W_c = nn.Parameter(torch.randn(2, hidden_size, hidden_size))

    def forward(self, query, states):
        scores = query @ states.transpose(1, 2)
        weights = torch.softmax(scores, dim=-1)
        context = weights @ states
        mixed = context @ self.W_c[0] + query @ self.W_c[1]
        return torch.tanh(mixed), weights
