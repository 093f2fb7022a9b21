import torch
import torch.nn.functional as F
from torch import nn


class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        nn.Module.__init__(self)
        self.W_c = nn.Parameter(torch.randn(hidden_size, 2 * hidden_size) / hidden_size**0.5)

    def forward(self, query, states):
        z = (query[:, :, None, :] * states[:, None, :, :]).sum(-1)
        weights = torch.exp(z - torch.logsumexp(z, dim=-1, keepdim=True))
        context = (weights[..., None] * states[:, None]).sum(dim=2)
        return torch.tanh(F.linear(torch.cat((context, query), 2), self.W_c)), weights
