import torch
from torch import nn


class SingleQueryScaledDotProductAttention(nn.Module):
    def __init__(self, enc_hid_dim, dec_hid_dim, kq_dim=512):
        super().__init__()
        self.query = nn.Linear(dec_hid_dim, kq_dim, bias=False)
        self.key = nn.Linear(enc_hid_dim * 2, kq_dim, bias=False)
        self.scale = torch.sqrt(torch.FloatTensor([kq_dim]))

    def forward(self, hidden, encoder_outputs):
        scores = (
            torch.einsum("bk,sbk->bs", self.query(hidden), self.key(encoder_outputs)) / self.scale
        )
        alpha = scores.softmax(dim=-1)
        return torch.einsum("bs,sbd->bd", alpha, encoder_outputs), alpha
