import torch
from torch import nn


class SingleQueryScaledDotProductAttention(nn.Module):
    def __init__(self, enc_hid_dim, dec_hid_dim, kq_dim=512):
        super().__init__()
        self.A = nn.Parameter(torch.randn(dec_hid_dim, kq_dim))
        self.B = nn.Parameter(torch.randn(2 * enc_hid_dim, kq_dim))

    def forward(self, hidden, encoder_outputs):
        q = hidden @ self.A
        k = (encoder_outputs @ self.B).permute(1, 2, 0)
        alpha = torch.softmax((q.unsqueeze(1) @ k).squeeze(1) / q.shape[-1] ** 0.5, dim=-1)
        return (alpha.unsqueeze(1) @ encoder_outputs.permute(1, 0, 2)).squeeze(1), alpha
