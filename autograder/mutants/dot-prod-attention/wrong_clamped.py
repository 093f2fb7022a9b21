# misconception: none
import torch
from torch import nn


class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.out = nn.Linear(2 * hidden_size, hidden_size)

    def forward(self, query, states):
        weights = (query @ states.transpose(1, 2)).softmax(dim=-1)
        joined = torch.cat([weights @ states, query], dim=-1)
        return (3 * self.out(joined)).clamp(-1, 1), weights
