import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(eq=False)
class SingleQueryScaledDotProductAttention(nn.Module):
    enc_hid_dim: int
    dec_hid_dim: int
    kq_dim: int = 512

    def __post_init__(self):
        super().__init__()
        self.project = nn.ModuleDict(
            {
                "q": nn.Linear(self.dec_hid_dim, self.kq_dim, bias=False),
                "k": nn.Linear(2 * self.enc_hid_dim, self.kq_dim, bias=False),
            }
        )

    def forward(self, hidden: Tensor, encoder_outputs: Tensor) -> tuple[Tensor, Tensor]:
        q, k = self.project["q"](hidden), self.project["k"](encoder_outputs)
        alpha = ((k * q).sum(-1) / math.sqrt(self.kq_dim)).softmax(dim=0)
        return (alpha.unsqueeze(-1) * encoder_outputs).sum(dim=0), alpha.T
