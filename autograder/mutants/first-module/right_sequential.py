import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self, d_model, size):
        super().__init__()
        self.hidden = nn.Linear(d_model, size)
        self.readout = nn.Linear(size, 1)
        self.layers = nn.Sequential(self.hidden, nn.Tanh(), self.readout)

    def forward(self, x):
        return self.layers(x).flatten(1)
