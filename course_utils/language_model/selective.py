"""A state-space model that chooses by its input what to keep, write and read (notebook 07)."""

import torch
from torch import Tensor, nn


class SelectiveSSM(nn.Module):
    """H_t = a_t * H_{t-1} + v_t k_t^T,  y_t = H_t q_t: a matrix memory with a gate.

    The state is a matrix of D x N numbers. What fades (a_t, one number between 0 and 1 per row),
    under which key a value is written (k_t) and which one is read (q_t) all depend on the input;
    in a time-invariant model they are fixed.
    """

    def __init__(self, d_model: int, num_states: int = 16):
        super().__init__()
        self.gate = nn.Linear(d_model, d_model)
        nn.init.constant_(self.gate.bias, 4.0)  # sigmoid(4) = 0.98: at the start little fades
        self.value = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, num_states)
        self.query = nn.Linear(d_model, num_states)
        self.output = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """x [B, L, D] to [B, L, D], one step after the other."""
        gates, values = torch.sigmoid(self.gate(x)), self.value(x)
        keys, queries = self.key(x), self.query(x)
        state = x.new_zeros(len(x), values.shape[-1], keys.shape[-1])
        read = []
        for t in range(x.shape[1]):
            written = values[:, t, :, None] * keys[:, t, None, :]
            state = gates[:, t, :, None] * state + written
            read.append(torch.einsum("bdn,bn->bd", state, queries[:, t]))
        return self.output(torch.stack(read, dim=1))
