# misconception: reshape-for-transpose
import torch
from torch import nn


class SingleQueryScaledDotProductAttention(nn.Module):
    def __init__(self, enc_hid_dim, dec_hid_dim, kq_dim=512):
        super().__init__()
        self.W_q = nn.Linear(dec_hid_dim, kq_dim)
        self.W_k = nn.Linear(2 * enc_hid_dim, kq_dim)
        self.kq_dim = kq_dim

    def forward(self, hidden, encoder_outputs):
        S, B, D = encoder_outputs.shape
        states = encoder_outputs.reshape(B, S, D)
        q, k = self.W_q(hidden), self.W_k(states)
        alpha = torch.softmax((k @ q.unsqueeze(-1)).squeeze(-1) / self.kq_dim**0.5, dim=1)
        return (alpha.unsqueeze(1) @ states).squeeze(1), alpha
