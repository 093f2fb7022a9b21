"""The recall task: pairs of a key and a value to remember, and models that learn it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.language_model.sequence_models import make_layer, run_layer
from course_utils.training.history import History
from course_utils.training.loop import fit


@dataclass(frozen=True)
class Recall:
    """Pairs of a key and a value, one per step; then keys alone: which value came with each?"""

    num_keys: int = 64
    num_values: int = 16

    def batch(self, pairs: int, size: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
        """keys [B, 2n], values [B, 2n] (num_values where asked), answers [B, n]."""
        if not 1 <= pairs <= self.num_keys:
            raise ValueError(f"There are {self.num_keys} keys, so {pairs} pairs do not work.")
        generator = torch.Generator().manual_seed(seed)
        keys = torch.rand(size, self.num_keys, generator=generator).argsort(1)[:, :pairs]
        values = torch.randint(self.num_values, (size, pairs), generator=generator)
        order = torch.rand(size, pairs, generator=generator).argsort(1)
        asked, answers = keys.gather(1, order), values.gather(1, order)
        unknown = torch.full_like(values, self.num_values)
        return torch.cat([keys, asked], 1), torch.cat([values, unknown], 1), answers


class SequenceModel(nn.Module):
    """Keys and values in, the value that belongs to each asked key out. It has no positions."""

    def __init__(self, kind: str, task: Recall, d_model: int = 64, num_layers: int = 2):
        super().__init__()
        self.kind = kind
        self.keys = nn.Embedding(task.num_keys, d_model)
        self.values = nn.Embedding(task.num_values + 1, d_model)
        self.layers: Any = nn.ModuleList(make_layer(kind, d_model) for _ in range(num_layers))
        self.norm = nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, task.num_values)

    def forward(self, keys: Tensor, values: Tensor) -> Tensor:
        x = self.keys(keys) + self.values(values)
        for layer in self.layers:
            x = run_layer(layer, x)
        return self.output(self.norm(x[:, keys.shape[1] // 2 :]))

    def numbers_kept(self, positions: int) -> int:
        """How many numbers it has to carry along to go on after so many positions."""
        d_model, layers = self.output.in_features, len(self.layers)
        if self.kind == "RNN":
            return layers * d_model
        if self.kind == "SSM":
            return layers * 2 * self.layers[0].self_attn.attend.turn.numel()
        return layers * 2 * d_model * positions


def train_recall(
    kind: str, task: Recall, *, steps: int, most_pairs: int = 16, seed: int = 0, **how
) -> tuple[SequenceModel, History]:
    """A new model, trained on 2 to `most_pairs` pairs. Ten times it looks how far it has come."""
    torch.manual_seed(seed)
    model = SequenceModel(kind, task)
    epochs = min(10, steps)

    def batches(epoch: int) -> list:
        first = 100_000 * (seed + 1) + epoch * (steps // epochs)
        draw = np.random.default_rng(first)
        return [
            task.batch(int(draw.integers(2, most_pairs + 1)), 64, first + number)
            for number in range(steps // epochs)
        ]

    def loss(model: SequenceModel, batch) -> tuple[Tensor, int]:
        keys, values, answers = batch
        return F.cross_entropy(model(keys, values).flatten(0, 1), answers.flatten()), len(keys)

    history = fit(model, batches, loss, epochs=epochs, lr=2e-3, seed=seed, **how)
    return model, history


@torch.no_grad()
def recall_accuracy(model: SequenceModel, task: Recall, pairs: int, size: int = 200) -> float:
    """The share of right answers on sequences that were not trained on."""
    keys, values, answers = task.batch(pairs, size, seed=7)
    device = next(model.parameters()).device
    found = model.eval()(keys.to(device), values.to(device)).argmax(-1).cpu()
    return float((found == answers).float().mean())
