from functools import partial, reduce
from operator import add

import torch
from torch import nn


class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(hidden_size, hidden_size, bias=False) for _ in "cs"])
        self.register_buffer("nothing", torch.zeros(1))
        self.share = partial(torch.softmax, dim=-1)

    def forward(self, query, states):
        scores = torch.bmm(query, states.permute(0, 2, 1)) + self.nothing
        weights = self.share(scores)
        parts = [layer(x) for layer, x in zip(self.layers, (torch.bmm(weights, states), query))]
        return reduce(add, parts).tanh(), weights
