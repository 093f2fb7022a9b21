import torch
from torch import nn


class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.for_context = nn.Linear(hidden_size, hidden_size, bias=False)
        self.for_query = nn.Linear(hidden_size, hidden_size)

    def forward(self, query, states):
        scores = query @ states.transpose(1, 2)
        weights = torch.softmax(scores, dim=-1)
        context = weights @ states
        return torch.tanh(self.for_context(context) + self.for_query(query)), weights
