import torch
import torch.nn.functional as F
from torch import nn


class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.out = nn.Linear(2 * hidden_size, hidden_size, bias=False)

    def forward(self, query, states):
        scores = torch.bmm(query, states.transpose(1, 2))
        weights = F.softmax(scores, dim=2)
        context = torch.bmm(weights, states)
        return torch.tanh(self.out(torch.cat([context, query], dim=-1))), weights
