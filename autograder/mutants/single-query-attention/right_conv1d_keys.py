import torch
from torch import nn


class SingleQueryScaledDotProductAttention(nn.Module):
    def __init__(self, enc_hid_dim, dec_hid_dim, kq_dim=512):
        super().__init__()
        self.W_q = nn.Linear(dec_hid_dim, kq_dim)
        self.W_k = nn.Conv1d(2 * enc_hid_dim, kq_dim, 1)
        self.kq_dim = kq_dim

    def forward(self, hidden, encoder_outputs):
        q = self.W_q(hidden)
        k = self.W_k(encoder_outputs.permute(1, 2, 0))  # [B, K, S]
        alpha = torch.softmax(torch.bmm(q.unsqueeze(1), k).squeeze(1) / self.kq_dim**0.5, dim=1)
        return torch.bmm(alpha.unsqueeze(1), encoder_outputs.transpose(0, 1)).squeeze(1), alpha
