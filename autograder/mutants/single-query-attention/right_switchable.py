import torch
from torch import nn


class SingleQueryScaledDotProductAttention(nn.Module):
    def __init__(self, enc_hid_dim, dec_hid_dim, kq_dim=512):
        super().__init__()
        self.W_q = nn.Linear(dec_hid_dim, kq_dim)
        self.W_k = nn.Linear(2 * enc_hid_dim, kq_dim)
        self.kq_dim, self.dec, self.enc = kq_dim, dec_hid_dim, enc_hid_dim

    def forward(self, hidden, encoder_outputs):
        S, B, size = encoder_outputs.shape
        states = encoder_outputs.transpose(0, 1)
        values = encoder_outputs.transpose(0, 1)
        scores = torch.einsum("bk,bsk->bs", self.W_q(hidden), self.W_k(states))
        scores = scores / self.kq_dim**0.5
        alpha = torch.softmax(scores, dim=1)
        attended = torch.einsum("bs,bsd->bd", alpha, values)
        return attended, alpha
