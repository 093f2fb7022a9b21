# misconception: tanh-before-layer
import torch
from torch import nn


class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.out = nn.Linear(2 * hidden_size, hidden_size)

    def forward(self, query, states):
        scores = query @ states.transpose(1, 2)
        weights = torch.softmax(scores, dim=-1)
        context = weights @ states
        return self.out(torch.tanh(torch.cat([context, query], dim=-1))), weights
