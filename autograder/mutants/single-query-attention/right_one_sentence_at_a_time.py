import torch
from torch import nn


class SingleQueryScaledDotProductAttention(nn.Module):
    def __init__(self, enc_hid_dim, dec_hid_dim, kq_dim=512):
        super().__init__()
        self.kq_dim = kq_dim
        self.for_query = nn.LazyLinear(kq_dim)
        self.for_keys = nn.LazyLinear(kq_dim)

    def one(self, h, states):
        scores = self.for_keys(states) @ self.for_query(h) / self.kq_dim**0.5
        alpha = torch.softmax(scores, dim=0)
        return alpha @ states, alpha

    def forward(self, hidden, encoder_outputs):
        pairs = [self.one(h, encoder_outputs[:, b]) for b, h in enumerate(hidden)]
        attended_val, alpha = map(torch.stack, zip(*pairs))
        return attended_val, alpha
