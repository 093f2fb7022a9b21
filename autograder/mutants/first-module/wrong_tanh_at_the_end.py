# misconception: tanh-at-the-end
import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self, d_model, size):
        super().__init__()
        self.hidden = nn.Linear(d_model, size)
        self.readout = nn.Linear(size, 1)

    def forward(self, x):
        return torch.tanh(self.readout(torch.tanh(self.hidden(x)))).squeeze(-1)
