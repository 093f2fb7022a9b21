# misconception: none
import torch
from torch import nn


class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.out = nn.Linear(2 * hidden_size, hidden_size)

    def forward(self, query, states):
        return torch.zeros(1).expand(50000, 50000), torch.zeros(1)
