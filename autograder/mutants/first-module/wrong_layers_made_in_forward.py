# misconception: none
import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self, d_model, size):
        super().__init__()
        self.size = size

    def forward(self, x):
        hidden = nn.Linear(x.shape[-1], self.size)
        readout = nn.Linear(self.size, 1)
        return readout(torch.tanh(hidden(x))).squeeze(-1)
