"""The recall task: pairs of a key and a value to remember, and models that learn it."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.language_model.sequence_models import make_layer, run_layer
from course_utils.measured import FOLDER
from course_utils.measured.claims import read_rows


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


@dataclass(frozen=True)
class MeasuredRecall:
    """What benchmarks/trained_recall.py found at the end of its runs, by model and number of pairs."""

    pairs: list[int]
    models: dict[str, list[float]]
    numbers_kept: dict[str, list[int]]
    no_keys: list[float]


def measured_recall(steps: int = 3000) -> MeasuredRecall:
    rows = [
        row
        for row in read_rows(FOLDER / "trained_recall.csv")
        if int(row["steps"]) == int(row["after"]) == steps
    ]
    pairs = sorted({int(row["pairs"]) for row in rows})
    names = list(dict.fromkeys(row["model"] for row in rows))

    def column(name: str, model: str) -> list[float]:
        found = [
            [float(r[name]) for r in rows if (r["model"], int(r["pairs"])) == (model, n)]
            for n in pairs
        ]
        return [mean(numbers) for numbers in found]  # over the seeds

    return MeasuredRecall(
        pairs,
        {name: column("recall", name) for name in names},
        {name: [round(n) for n in column("numbers_kept", name)] for name in names},
        column("commonest_stored_value", names[0]),
    )


@torch.no_grad()
def recall_accuracy(model: SequenceModel, task: Recall, pairs: int, size: int = 200) -> float:
    """The share of right answers on sequences that were not trained on."""
    keys, values, answers = task.batch(pairs, size, seed=7)
    device = next(model.parameters()).device
    found = model.eval()(keys.to(device), values.to(device)).argmax(-1).cpu()
    return float((found == answers).float().mean())
