# misconception: zero-weights
import torch
from torch import nn


class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.out = nn.Linear(2 * hidden_size, hidden_size)

    def forward(self, query, states):
        B, T, D = query.shape
        return torch.zeros(B, T, D), torch.zeros(B, T, states.shape[1])
