"""Other ways to score, for comparison: each is a case of A(q, K, V) with its own e(q, k).

Where the score is a dot product after all, it is built around the dot-product attention that you
wrote.
"""

import math

import torch
from torch import Tensor, nn


def mix(scores: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
    """Softmax of the scores [B, T, S], and the states averaged by it."""
    weights = scores.softmax(dim=-1)
    return weights @ states, weights


class Scaled(nn.Module):
    """e(q, k) = q . k / sqrt(D), around a dot-product attention."""

    gives = "hidden"

    def __init__(self, attention: nn.Module):
        super().__init__()
        self.attention = attention

    def forward(self, query: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        return self.attention(query / math.sqrt(query.shape[-1]), states)


class General(nn.Module):
    """e(q, k) = (W q) . k, around a dot-product attention: queries and keys may differ."""

    gives = "hidden"

    def __init__(self, attention: nn.Module, hidden: int):
        super().__init__()
        self.attention, self.turn = attention, nn.Linear(hidden, hidden, bias=False)

    def forward(self, query: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        return self.attention(self.turn(query), states)


class Additive(nn.Module):
    """e(q, k) = v . tanh(W q + U k): a small network in place of a product."""

    gives = "context"

    def __init__(self, hidden: int):
        super().__init__()
        self.for_query = nn.Linear(hidden, hidden)
        self.for_state = nn.Linear(hidden, hidden, bias=False)
        self.v = nn.Linear(hidden, 1, bias=False)

    def forward(self, query: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        pairs = self.for_query(query)[:, :, None] + self.for_state(states)[:, None]
        return mix(self.v(torch.tanh(pairs)).squeeze(-1), states)


class LinearScores(nn.Module):
    """e(q, k_s) = w_s . q + b_s: the keys are weights, one for each place up to a longest length.

    The scores look at the decoder alone. They can learn to go to place 7, never to find an a.
    """

    gives = "context"

    def __init__(self, hidden: int, longest: int = 64):
        super().__init__()
        self.keys = nn.Linear(hidden, longest)

    def forward(self, query: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        S = states.shape[1]
        if S > self.keys.out_features:
            raise ValueError(
                f"The source has {S} steps, and this attention knows {self.keys.out_features} places."
            )
        return mix(self.keys(query)[..., :S], states)


class Unnormalised(nn.Module):
    """The scores themselves as weights: no softmax, so nothing keeps their sum at one."""

    gives = "context"

    def forward(self, query: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        scores = torch.einsum("btd,bsd->bts", query, states)
        return torch.einsum("bts,bsd->btd", scores, states), scores
