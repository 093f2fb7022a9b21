import torch
from torch import nn


class SingleQueryScaledDotProductAttention(nn.Module):
    def __init__(self, enc_hid_dim, dec_hid_dim, kq_dim=512):
        super().__init__()
        self.q_proj = nn.Linear(dec_hid_dim, kq_dim)
        self.k_proj = nn.Linear(enc_hid_dim * 2, kq_dim)
        self.register_buffer("scale", torch.tensor(float(kq_dim)).rsqrt())

    def forward(self, hidden, encoder_outputs):
        print("shapes:", hidden.shape, encoder_outputs.shape)
        states = encoder_outputs.transpose(0, 1)
        q = self.q_proj(hidden)
        scores = torch.einsum("bk,bsk->bs", q, self.k_proj(states)) * self.scale
        alpha = nn.functional.softmax(scores, dim=-1)
        return torch.einsum("bs,bsd->bd", alpha, states), alpha
