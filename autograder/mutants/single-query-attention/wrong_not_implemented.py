# misconception: none
import torch
from torch import nn


class SingleQueryScaledDotProductAttention(nn.Module):
    def __init__(self, enc_hid_dim, dec_hid_dim, kq_dim=512):
        super().__init__()
        self.W_q = nn.Linear(dec_hid_dim, kq_dim)
        self.W_k = nn.Linear(2 * enc_hid_dim, kq_dim)
        self.kq_dim = kq_dim

    def forward(self, hidden, encoder_outputs):
        raise NotImplementedError()
