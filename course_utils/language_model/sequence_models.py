"""Three ways to carry the past along: a recurrent state, a linear state, and attention to all of it.

All three use PyTorch's layer; only the part that mixes positions is replaced.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.language_model.cache import InPlace
from course_utils.language_model.model import joined_mask

KINDS = ("RNN", "SSM", "transformer")


class Recurrence(nn.Module):
    """A GRU: h_t is a nonlinear function of h_{t-1} and x_t, so step t has to wait for step t - 1."""

    def __init__(self, d_model: int):
        super().__init__()
        self.cell = nn.GRU(d_model, d_model, batch_first=True)
        self.reset()

    def reset(self) -> None:
        self.state: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        return self.cell(x)[0]

    def step(self, x: Tensor) -> Tensor:
        """x [B, 1, D]: one more position, from the state that was kept."""
        y, self.state = self.cell(x, self.state)
        return y


class DiagonalSSM(nn.Module):
    """A state-space model: h_t = a * h_{t-1} + B x_t,  y_t = Re(C h_t).

    `a` holds one complex number of absolute value below 1 for each of the N entries of the state:
    how fast it fades, and how fast it rotates. The step from h_{t-1} to h_t is linear, so h_t is a sum
    over the past, h_t = sum_s a^(t-s) B x_s: a convolution, which needs no waiting.
    """

    def __init__(self, d_model: int, num_states: int = 64):
        super().__init__()
        # They forget within 2 to 500 steps at the start, spread evenly on a logarithmic scale.
        spans = torch.logspace(math.log10(2), math.log10(500), num_states)
        self.log_decay = nn.Parameter(torch.log(1 / spans))
        self.turn = nn.Parameter(torch.rand(num_states) * math.pi / 4)
        self.B = nn.Parameter(torch.randn(2, num_states, d_model) / (2 * d_model) ** 0.5)
        self.C = nn.Parameter(torch.randn(2, d_model, num_states) / num_states**0.5)
        self.reset()

    def reset(self) -> None:
        self.state: Tensor | None = None

    def parts(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """log a [N], the input to the state [B, L, N], and C [D, N], all complex."""
        log_a = torch.complex(-self.log_decay.exp(), self.turn)
        # The less an entry forgets, the more adds up in it: scale what goes in to match.
        size = (1 - (2 * log_a.real).exp()).sqrt()
        entering = torch.complex(x @ self.B[0].T, x @ self.B[1].T) * size
        return log_a, entering, torch.complex(self.C[0], self.C[1])

    def forward(self, x: Tensor) -> Tensor:
        """All positions at once: the convolution, as a product of Fourier transforms."""
        L = x.shape[1]
        log_a, entering, C = self.parts(x)
        powers = (log_a[None] * torch.arange(L, device=x.device)[:, None]).exp()
        both = torch.fft.fft(powers, 2 * L, dim=0) * torch.fft.fft(entering, 2 * L, dim=1)
        states = torch.fft.ifft(both, dim=1)[:, :L]
        return (states @ C.T).real

    def step(self, x: Tensor) -> Tensor:
        """x [B, 1, D]: one more position, from the state that was kept."""
        log_a, entering, C = self.parts(x)
        state = entering[:, 0]
        if self.state is not None:
            state = state + self.state * log_a.exp()
        self.state = state
        return (state @ C.T).real[:, None]


class KeptWeights(nn.Module):
    """PyTorch's attention, the way that stores the weights [B, num_heads, L, L]."""

    batch_first = False  # tells the layer not to take the short cut that goes past `forward`

    def __init__(self, attention: nn.MultiheadAttention):
        super().__init__()
        self.attention = attention

    def forward(self, query, key, value, attn_mask=None, **others):
        return self.attention(query, key, value, attn_mask=attn_mask, need_weights=True)


def make_layer(kind: str, d_model: int = 64, num_heads: int = 4) -> Any:
    """A transformer layer, with its attention or with another mixing part in its place."""
    if kind not in KINDS:
        raise ValueError(f"A sequence model is one of {', '.join(KINDS)}, not {kind!r}.")
    layer: Any = nn.TransformerEncoderLayer(
        d_model, num_heads, 2 * d_model, 0.0, "gelu", batch_first=True, norm_first=True
    )
    if kind == "RNN":
        layer.self_attn = InPlace(Recurrence(d_model))
    elif kind == "SSM":
        layer.self_attn = InPlace(DiagonalSSM(d_model))
    return layer


def run_layer(layer: nn.Module, x: Tensor) -> Tensor:
    """x [B, L, D] through a layer in which no position sees a later one."""
    mask = joined_mask(x.shape[1]).to(x.device)
    return layer(x, src_mask=~mask, is_causal=True)  # torch: True where not allowed
