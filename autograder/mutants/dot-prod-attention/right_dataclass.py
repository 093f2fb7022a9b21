from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(eq=False)
class DotProdAttention(nn.Module):
    hidden_size: int

    def __post_init__(self) -> None:
        super().__init__()
        self.combine = nn.Sequential(nn.Linear(2 * self.hidden_size, self.hidden_size), nn.Tanh())

    def forward(self, query: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        weights = torch.matmul(query, states.mT).softmax(dim=2)
        return self.combine(torch.hstack([(weights @ states).mT, query.mT]).mT), weights
