import torch
from torch import nn


class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.out = nn.Linear(2 * hidden_size, hidden_size)

    def forward(self, query, states):
        B, T, D = query.shape
        S = states.shape[1]
        weights = torch.zeros(B, T, S)
        context = torch.zeros(B, T, D)
        for b in range(B):
            for t in range(T):
                scores = torch.stack([query[b, t].dot(states[b, s]) for s in range(S)])
                row = torch.softmax(scores, dim=0)
                weights[b, t] = row
                context[b, t] = sum(row[s] * states[b, s] for s in range(S))
        return torch.tanh(self.out(torch.cat([context, query], dim=-1))), weights
