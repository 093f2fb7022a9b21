import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self, d_model, size):
        super().__init__()
        self.hidden = nn.Linear(d_model, size)
        self.readout = nn.Linear(size, 1)

    def forward(self, x):
        rows = []
        for sentence in x:
            rows.append(torch.cat([self.readout(torch.tanh(self.hidden(v))) for v in sentence]))
        return torch.stack(rows)
