import torch
from torch import nn


class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.out = nn.Linear(2 * hidden_size, hidden_size)

    def forward(self, query, states):
        scores = torch.einsum("btd,bsd->bts", query, states)
        weights = scores.softmax(-1)
        context = torch.einsum("bts,bsd->btd", weights, states)
        return torch.tanh(self.out(torch.cat([context, query], dim=-1))), weights
