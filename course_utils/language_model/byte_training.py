"""How a student's decoder-only model learns bytes, and how many bits it needs per byte."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.training.devices import adam
from course_utils.training.history import History
from course_utils.training.loop import fit


@dataclass(frozen=True)
class ByteRecipe:
    """How large a model is, and how long it is trained.

    context   how many bytes it reads at once: its positions
    rounds    the training is shown, and its loss measured, after each of them
    """

    d_model: int
    num_heads: int
    num_layers: int
    context: int
    rounds: int
    steps: int  # in each round
    batch_size: int = 8
    lr: float = 3e-3

    @property
    def sizes(self) -> dict[str, int]:
        """As the arguments of DecoderOnly."""
        return {
            "vocab_size": 256,
            "d_model": self.d_model,
            "num_heads": self.num_heads,
            "num_layers": self.num_layers,
            "d_ff": 4 * self.d_model,
            "max_length": self.context,
        }


BYTE_RECIPES = {
    "smoke": ByteRecipe(32, 2, 2, 64, rounds=2, steps=20),
    "quick": ByteRecipe(128, 4, 4, 128, rounds=10, steps=200),
    "full": ByteRecipe(192, 6, 6, 256, rounds=20, steps=500, batch_size=16),
}
RISING_STEPS = 50


def as_tokens(text: bytes) -> Tensor:
    return torch.frombuffer(bytearray(text), dtype=torch.uint8).long()


def start_small(model: nn.Module, std: float = 0.05) -> None:
    """Draw matrices from a narrow normal distribution; those that write into the sum, narrower."""
    writers = ("out_proj.weight", "W_O.weight", "feed_forward.2.weight")
    named = list(model.named_parameters())
    depth = sum(name.endswith(writers) for name, _ in named)
    for name, parameter in named:
        if parameter.dim() == 2:
            nn.init.normal_(
                parameter, std=std / max(depth, 1) ** 0.5 if name.endswith(writers) else std
            )


def train_on_bytes(
    model: nn.Module,
    text: bytes,
    next_token_loss: Callable[[Tensor, Tensor], Tensor],
    recipe: ByteRecipe,
    *,
    held_out: bytes = b"",
    seed: int = 0,
    **how: Any,
) -> History:
    """Train `model` on pieces of `text` drawn at random; `how` goes to `fit`."""
    tokens, last = as_tokens(text), len(text) - recipe.context
    steps = recipe.rounds * recipe.steps

    def batches(epoch: int):
        draw = torch.Generator().manual_seed(1000 * seed + epoch)
        for _ in range(recipe.steps):
            starts = torch.randint(last, (recipe.batch_size, 1), generator=draw)
            yield tokens[starts + torch.arange(recipe.context)]

    def loss(model: nn.Module, batch: Tensor) -> tuple[Tensor, int]:
        return next_token_loss(model(batch), batch), batch.numel()

    def validate(model: nn.Module) -> dict[str, float]:
        bits = bits_per_byte(model, held_out[:16_000], recipe.context)
        return {"loss": bits * math.log(2), "bits": bits}

    return fit(
        model,
        batches,
        loss,
        epochs=recipe.rounds,
        seed=seed,
        lr=recipe.lr,
        schedule=lambda step: min(step / RISING_STEPS, 1 - 0.95 * step / steps),
        **{"optimiser": adam, "validate": validate if held_out else None, **how},
    )


@torch.no_grad()
def byte_losses(model: nn.Module, text: bytes, context: int, batch_size: int = 64) -> Tensor:
    """The loss of every byte of `text` but the first, in nats.

    Pieces overlap by half, so that all but the first few bytes have half a piece before them.
    """
    model.eval()
    device = next(model.parameters()).device
    tokens, half = as_tokens(text), context // 2
    starts = list(range(0, max(len(tokens) - half - 1, 1), half))
    found = []
    for some in (starts[i : i + batch_size] for i in range(0, len(starts), batch_size)):
        pieces = [tokens[start : start + context + 1] for start in some]
        padded = nn.utils.rnn.pad_sequence(pieces, batch_first=True).to(device)
        logits = model(padded[:, :-1])
        losses = F.cross_entropy(logits.transpose(1, 2), padded[:, 1:], reduction="none")
        for start, piece, row in zip(some, pieces, losses):
            found.append(row[half if start else 0 : len(piece) - 1])
    return torch.cat(found)


def bits_per_byte(model: nn.Module, text: bytes, context: int) -> float:
    return float(byte_losses(model, text, context).mean()) / math.log(2)
