# misconception: layers-of-512
import torch
from torch import nn


class SingleQueryScaledDotProductAttention(nn.Module):
    def __init__(self, enc_hid_dim, dec_hid_dim, kq_dim=512):
        super().__init__()
        self.W_q = nn.Linear(dec_hid_dim, 512)
        self.W_k = nn.Linear(2 * enc_hid_dim, 512)
        self.kq_dim = kq_dim

    def forward(self, hidden, encoder_outputs):
        q = self.W_q(hidden)  # [B, K]
        k = self.W_k(encoder_outputs)  # [S, B, K]
        scores = (q * k).sum(dim=-1).T / self.kq_dim**0.5  # [B, S]
        alpha = torch.softmax(scores, dim=1)
        attended = (alpha.T.unsqueeze(-1) * encoder_outputs).sum(dim=0)
        return attended, alpha
