import torch
from torch import nn


class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.out = nn.Linear(2 * hidden_size, hidden_size)

    def forward(self, query, states):
        scores = torch.zeros(query.shape[0], query.shape[1], states.shape[1], dtype=torch.float32)
        scores = scores + query @ states.transpose(1, 2)
        weights = torch.softmax(scores, dim=-1).float()
        context = torch.bmm(weights, states.float())
        joined = torch.cat([context, query.float()], dim=-1)
        return torch.tanh(self.out(joined.to(self.out.weight.dtype))), weights
