import torch
import torch.nn.functional as F
from torch import nn


class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.out = nn.Linear(2 * hidden_size, hidden_size)

    def forward(self, query, states):
        context = F.scaled_dot_product_attention(query, states, states, scale=1.0)
        weights = torch.softmax(query @ states.transpose(1, 2), dim=-1)
        return torch.tanh(self.out(torch.cat([context, query], dim=-1))), weights
