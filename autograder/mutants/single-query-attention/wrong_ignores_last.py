# misconception: ignores-last-position
import torch
import torch.nn.functional as F
from torch import nn


class SingleQueryScaledDotProductAttention(nn.Module):
    def __init__(self, enc_hid_dim, dec_hid_dim, kq_dim=512):
        super().__init__()
        self.W_q = nn.Linear(dec_hid_dim, kq_dim)
        self.W_k = nn.Linear(2 * enc_hid_dim, kq_dim)
        self.kq_dim = kq_dim

    def forward(self, hidden, encoder_outputs):
        q = self.W_q(hidden)  # [B, K]
        k = self.W_k(encoder_outputs)  # [S, B, K]
        scores = (q * k).sum(dim=-1).T / self.kq_dim**0.5  # [B, S]
        alpha = F.pad(torch.softmax(scores[:, :-1], dim=1), (0, 1))
        attended = (alpha.T.unsqueeze(-1) * encoder_outputs).sum(dim=0)
        return attended, alpha
