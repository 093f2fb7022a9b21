import torch
from torch import nn


class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.W_c = nn.Parameter(torch.empty(2 * hidden_size, hidden_size))
        nn.init.xavier_uniform_(self.W_c)

    def forward(self, query, states):
        scores = query @ states.transpose(1, 2)
        weights = torch.softmax(scores, dim=-1)
        context = weights @ states
        return torch.tanh(torch.cat([context, query], dim=-1) @ self.W_c), weights
