# misconception: nothing-to-learn
import torch
from torch import nn


class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.W_c = (
            torch.linspace(-1, 1, 2 * hidden_size * hidden_size).reshape(
                2 * hidden_size, hidden_size
            )
            ** 3
            / 3
        )

    def forward(self, query, states):
        scores = query @ states.transpose(1, 2)
        weights = torch.softmax(scores, dim=-1)
        context = weights @ states
        joined = torch.cat([context, query], dim=-1)
        return torch.tanh(joined @ self.W_c.to(joined.dtype)), weights
