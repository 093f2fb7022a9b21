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
        alphas, sums = [], []
        for b in range(B):
            q = self.W_q(hidden[b])
            scores = torch.stack([q @ self.W_k(encoder_outputs[t, b]) for t in range(S)])
            alpha = torch.softmax(scores / self.kq_dim**0.5, dim=0)
            alphas.append(alpha)
            sums.append(sum(alpha[t] * encoder_outputs[t, b] for t in range(S)))
        return torch.stack(sums), torch.stack(alphas)
