"""How a language model learns to translate, and how well it predicts the next word."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.data.batches import Batch, Example, length_batches
from course_utils.data.corpus import Encoded
from course_utils.data.tokens import PAD
from course_utils.language_model.model import LanguageModel
from course_utils.training.devices import adam, move
from course_utils.training.history import History
from course_utils.training.recipe import Recipe
from course_utils.transformer.sizes import Sizes
from course_utils.translation.training import train_translator

RECIPES = {
    "smoke": Recipe(
        epochs=1, batch_size=32, rising_steps=10, examples=800, sizes=Sizes(64, 4, 2, 128, 0.0)
    ),
    "quick": Recipe(epochs=10, batch_size=32, rising_steps=100, sizes=Sizes()),
    "full": Recipe(epochs=16, batch_size=64, rising_steps=100, sizes=Sizes(192, 6, 4, 512)),
}


def target_scores(model: LanguageModel, batch: Batch, two_way: bool) -> tuple[Tensor, Tensor]:
    """Scores [N, V] of the N words of the targets, and the words that are wanted [N]."""
    S = batch.source.shape[1]
    joined = model.join(batch.source, batch.given)
    scores = model(joined, S if two_way else 0, from_position=S)
    real = batch.wanted != PAD
    return scores[real], batch.wanted[real]


def target_loss(two_way: bool) -> Callable[[LanguageModel, Batch], tuple[Tensor, int]]:
    """The loss of the target's words; with `two_way` the source sees itself in both directions."""

    def loss(model: LanguageModel, batch: Batch) -> tuple[Tensor, int]:
        scores, wanted = target_scores(model, batch, two_way)
        return F.cross_entropy(scores, wanted), len(wanted)

    return loss


@torch.no_grad()
def measure(model: LanguageModel, examples: Sequence[Example], two_way: bool) -> dict[str, float]:
    """Loss per word, and the share of words that are predicted right, given those before."""
    model.eval()
    device = next(model.parameters()).device
    total = right = words = 0.0
    for batch in length_batches(examples, 128):
        scores, wanted = target_scores(model, move(batch, device), two_way)
        total += float(F.cross_entropy(scores, wanted, reduction="sum"))
        right += float((scores.argmax(-1) == wanted).sum())
        words += len(wanted)
    return {"loss": total / words, "accuracy": right / words}


def train_language_model(
    data: Encoded, recipe: Recipe, *, two_way: bool, seed: int = 0, **how
) -> tuple[LanguageModel, History]:
    """A new model, trained; `how` goes to `fit`: `checkpoint`, `max_seconds`, `show` and so on."""
    torch.manual_seed(seed)
    model = LanguageModel(len(data.source_vocabulary), len(data.target_vocabulary), recipe.sizes)
    history = train_translator(
        model,
        data,
        recipe,
        seed=seed,
        loss_of=target_loss(two_way),
        **{
            "optimiser": adam,
            "validate": lambda model: measure(model, data.valid, two_way),
            **how,
        },
    )
    return model, history
