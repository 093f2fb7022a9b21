"""What training and translating with a transformer needs: a smoothed loss, sizes, a writer."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.data.batches import Batch, pad, padded_batches
from course_utils.data.corpus import Encoded
from course_utils.data.tokens import END, NEVER_WRITTEN, PAD, START
from course_utils.training.devices import adam
from course_utils.training.history import History
from course_utils.training.recipe import Recipe
from course_utils.transformer.sizes import Sizes
from course_utils.translation.decoding import Write
from course_utils.translation.model import length_limit
from course_utils.translation.training import mean_loss, train_translator

LONGEST = 64  # positions; longer sentences are left out of the training
VALID_WORDS = 3000  # in a batch of the validation

Decode = Callable[[Callable[[Tensor], Tensor], Tensor, int, int], Tensor]

RECIPES = {
    "smoke": Recipe(
        epochs=2,
        lr=4e-3,
        batch_size=500,
        rising_steps=60,
        smoothing=0.1,
        sizes=Sizes(64, 4, 1, 128, 0.0, LONGEST),
    ),
    # As many minutes as notebook 04 takes for its translator.
    "quick": Recipe(
        epochs=3,
        lr=1e-3,
        batch_size=750,
        rising_steps=300,
        smoothing=0.1,
        sizes=Sizes(256, 8, 2, 512, 0.1, LONGEST),
    ),
    # Small steps, and the mean of the weights over the last of them.
    "full": Recipe(
        epochs=13,
        lr=1e-3,
        batch_size=1000,
        rising_steps=600,
        smoothing=0.1,
        average=500,
        sizes=Sizes(256, 4, 3, 512, 0.25, LONGEST),
    ),
}


def smoothed_loss(smoothing: float = 0.0):
    """For `fit`: the mean loss of the words to predict, and how many there are.

    With smoothing the target is not one word with certainty: a share of `smoothing` is spread
    over all words. Padding costs nothing.
    """

    def loss(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        logits = model(batch.source, batch.given, batch.source_mask)
        value = F.cross_entropy(
            logits.flatten(0, 1),
            batch.wanted.flatten(),
            ignore_index=PAD,
            label_smoothing=smoothing,
        )
        return value, batch.words

    return loss


def start_well(model: nn.Module) -> None:
    """Initialise a new transformer so that it can learn.

    A word times sqrt(d_model) and its position should be about equally large: a model in which
    words drown out the positions learns order late.
    """
    for name, parameter in model.named_parameters():
        if "embedding" in name:
            nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5)
        elif "positions" in name:
            nn.init.normal_(parameter, std=0.7)
        elif parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)


def make_transformer(transformer: Callable[..., Any], data: Encoded, sizes: Sizes) -> Any:
    """A transformer of the given class for the two vocabularies, ready to be trained.

    The readout shares its matrix with the target's embedding: both describe what a word is like,
    and it is learned once, not twice.
    """
    model = transformer(
        sizes.d_model,
        sizes.num_heads,
        sizes.num_layers,
        sizes.d_ff,
        len(data.source_vocabulary),
        len(data.target_vocabulary),
        True,
        sizes.dropout,
        sizes.max_length,
    )
    start_well(model)
    model.readout.weight = model.target_embedding.weight
    return model


def train_transformer(
    model: nn.Module, data: Encoded, recipe: Recipe, *, seed: int = 0, **how
) -> History:
    """`train_translator` with padded batches and a smoothed loss; the validation is not smoothed.

    `how` goes to `fit`: `checkpoint`, `max_seconds`, `show` and so on.
    """
    fitting = [e for e in data.train if max(len(e.source), len(e.target) + 1) <= LONGEST]

    def validate(model: nn.Module) -> dict[str, float]:
        loss = mean_loss(model, data.valid, smoothed_loss(0.0), padded_batches, VALID_WORDS)
        return {"loss": loss, "perplexity": math.exp(loss)}

    return train_translator(
        model,
        dataclasses.replace(data, train=fitting),
        recipe,
        seed=seed,
        loss_of=smoothed_loss(recipe.smoothing),
        batches_of=padded_batches,
        **{
            "optimiser": partial(adam, betas=(0.9, 0.98), eps=1e-9),
            "validate": validate,
            **how,
        },
    )


def next_word(model: Any, source: Tensor) -> Callable[[Tensor], Tensor]:
    """The `step` of a decoding loop: prefixes [B, t] -> log-probabilities [B, V].

    `source` [B, S] is padded and encoded once. A single source may have any number of prefixes,
    as in a beam. Tokens that are not words are never proposed.
    """
    model.eval()
    mask = source != PAD
    with torch.inference_mode():
        memory = model.encode(source, mask)

    @torch.inference_mode()
    def step(prefixes: Tensor) -> Tensor:
        rows = len(prefixes)
        logits = model.decode(prefixes, memory.expand(rows, -1, -1), mask.expand(rows, -1))
        logits = logits[:, -1].clone()
        logits[:, NEVER_WRITTEN] = -math.inf
        return F.log_softmax(logits, dim=-1)

    return step


def written_by(decode: Decode, size: int = 100) -> Write:
    """For `translate`: how a transformer writes with a loop such as your `greedy_decode`.

    `decode(step, first [B], end, max_length)` returns tokens [B, T]. `size` sources of similar
    length are padded into one batch.
    """

    def write(model: nn.Module, sources: Sequence[Sequence[int]]) -> list[tuple[list[int], None]]:
        device = next(model.parameters()).device
        order = sorted(range(len(sources)), key=lambda place: len(sources[place]))
        written: dict[int, list[int]] = {}
        for start in range(0, len(order), size):
            places = order[start : start + size]
            source = pad(sources[place][:LONGEST] for place in places).to(device)
            limit = min(LONGEST, length_limit(source.shape[1]))
            first = torch.full((len(places),), START, device=device)
            tokens = decode(next_word(model, source), first, END, limit)
            written |= dict(zip(places, tokens.tolist(), strict=True))
        return [(written[place], None) for place in range(len(sources))]

    return write
