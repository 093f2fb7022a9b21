# misconception: none
import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self, d_model, size):
        super().__init__()
        self.layers = [nn.Linear(d_model, size), nn.Linear(size, 1)]

    def forward(self, x):
        return self.layers[1](torch.tanh(self.layers[0](x))).squeeze(-1)
