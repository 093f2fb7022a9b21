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
        q = self.W_q(hidden).unsqueeze(1)
        values = encoder_outputs.transpose(0, 1)
        k = self.W_k(values)
        attended = F.scaled_dot_product_attention(q, k, values).squeeze(1)
        alpha = torch.softmax((q @ k.transpose(1, 2)).squeeze(1) / self.kq_dim**0.5, dim=-1)
        return attended, alpha
