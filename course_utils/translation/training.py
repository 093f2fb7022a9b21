"""How translators are trained: from sentence pairs to the model with the lowest validation loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.data.batches import Batch, Example, length_batches
from course_utils.data.corpus import Encoded
from course_utils.data.tokens import PAD
from course_utils.training.devices import adam, move
from course_utils.training.history import History
from course_utils.training.loop import fit
from course_utils.training.losses import word_loss
from course_utils.training.recipe import Recipe
from course_utils.training.schedule import warm_up
from course_utils.translation.all_steps import attend_all_steps
from course_utils.translation.model import Translator, Widths

Loss = Callable[[Any, Batch], tuple[Tensor, int]]

RECIPES = {
    "smoke": Recipe(
        epochs=2,
        lr=8e-3,
        batch_size=32,
        rising_steps=40,
        sizes=Widths(words=96, encoder=96, decoder=96, dropout=0.0),
    ),
    "quick": Recipe(epochs=4, batch_size=64, sizes=Widths(dropout=0.2)),
    "full": Recipe(epochs=8, batch_size=64, sizes=Widths()),
}


def make_translator(
    data: Encoded, attention: nn.Module, widths: Widths | None = None
) -> Translator:
    """A translator for the two vocabularies of a corpus; it attends for all steps in one call."""
    words = len(data.source_vocabulary), len(data.target_vocabulary)
    return Translator(*words, attention, widths, attend_all_steps)


def translation_loss(model: Translator, batch: Batch) -> tuple[Tensor, int]:
    """The mean loss per word to predict, and the number of these words; padding does not count."""
    states, hidden = model.encode(batch.source.T)
    contexts, hiddens, _ = model.decode(batch.given.T, states, hidden)
    wanted = batch.wanted.T
    real = wanted != PAD
    features = model.features(contexts[real], hiddens[real])
    return word_loss(features, model.output, wanted[real]), len(features)


@torch.no_grad()
def mean_loss(
    model: nn.Module,
    examples: Sequence[Example],
    loss_of: Loss = translation_loss,
    batches_of: Callable[..., list[Batch]] = length_batches,
    batch_size: int = 128,
) -> float:
    """The loss per word on these examples; its exponential is the perplexity."""
    model.eval()
    device = next(model.parameters()).device
    total = words = 0.0
    for batch in batches_of(examples, batch_size):
        loss, count = loss_of(model, move(batch, device))
        total, words = total + loss.item() * count, words + count
    return total / words


def train_translator(
    model: nn.Module,
    data: Encoded,
    recipe: Recipe,
    *,
    seed: int = 0,
    loss_of: Loss = translation_loss,
    batches_of: Callable[..., list[Batch]] = length_batches,
    **how,
) -> History:
    """Train, show the progress, and keep the parameters with the lowest validation loss.

    loss_of     the mean loss of a batch, and the number of words it is the mean of
    batches_of  batches_of(examples, batch_size, seed): the batches of an epoch
    how         passed on to `fit`: `checkpoint`, `pause_after`, `validate`, `show` and so on
    """
    examples = data.train[: recipe.examples]
    steps = recipe.epochs * len(batches_of(examples, recipe.batch_size))

    def validate(model: nn.Module) -> dict[str, float]:
        loss = mean_loss(model, data.valid, loss_of)
        return {"loss": loss, "perplexity": math.exp(loss)}

    settings = {"optimiser": partial(adam, betas=(0.9, 0.98)), "validate": validate, **how}
    return fit(
        model,
        lambda epoch: batches_of(examples, recipe.batch_size, seed=1000 * seed + epoch),
        loss_of,
        epochs=recipe.epochs,
        lr=recipe.lr,
        schedule=warm_up(recipe.rising_steps, steps),
        average=recipe.average,
        seed=seed,
        **settings,
    )
