"""What training a transformer needs beyond `fit`: padded batches, a smoothed loss, a warm-up."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.data.batches import Example
from course_utils.data.corpus import Encoded
from course_utils.data.tokens import END, PAD, START, UNKNOWN
from course_utils.measured import FOLDER
from course_utils.training.devices import adam
from course_utils.training.history import History
from course_utils.training.loop import fit

# Runs that come with the course, written by benchmarks/transformer_bleu.py.
TRANSFORMER_RESULTS = FOLDER / "transformer_results.csv"
LONGEST = 64  # positions; longer sentences are left out of the training

Decode = Callable[[Callable[[Tensor], Tensor], Tensor, int, int], Tensor]


# --- padded batches --------------------------------------------------------------------------


class PaddedBatch(NamedTuple):
    """Pairs of any lengths, filled up with PAD.

    `source` is [B, S]. `given` [B, T] is what the decoder reads, it begins with the start mark;
    `wanted` [B, T] is what it should say next: the same, one step earlier.
    """

    source: Tensor
    given: Tensor
    wanted: Tensor

    @property
    def source_mask(self) -> Tensor:
        """True where there is a word, [B, S]."""
        return self.source != PAD


def pad(rows: Sequence[Sequence[int]]) -> Tensor:
    """Lists of numbers as one tensor, the shorter ones filled up with PAD."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])


def padded_batch(examples: Sequence[Example]) -> PaddedBatch:
    """One batch of sentence pairs, whatever their lengths."""
    return PaddedBatch(
        pad([e.source for e in examples]),
        pad([[START, *e.target] for e in examples]),
        pad([[*e.target, END] for e in examples]),
    )


def padded_batches(
    examples: Sequence[Example], words: int = 2000, seed: int | None = None
) -> list[PaddedBatch]:
    """Batches of about `words` target words: pairs of similar length stand together.

    With a seed, pairs and batches are shuffled; without one the order is always the same.
    """
    rng = random.Random(seed) if seed is not None else None

    def length(example: Example) -> float:
        # A little noise, so that a pair meets other neighbours in each epoch.
        return len(example.target) + len(example.source) / 4 + (rng.random() if rng else 0.0)

    batches, current, longest = [], [], 0
    for example in sorted(examples, key=length):
        longest = max(longest, len(example.target) + 1)
        if current and longest * (len(current) + 1) > words:
            batches.append(current)
            current, longest = [], len(example.target) + 1
        current.append(example)
    if current:
        batches.append(current)
    if rng:
        rng.shuffle(batches)
    return [padded_batch(batch) for batch in batches]


# --- the loss and the learning rate ----------------------------------------------------------


def smoothed_loss(smoothing: float = 0.0):
    """For `fit`: the mean loss of the words to predict, and how many there are.

    With smoothing the target is not one word with certainty: a share of `smoothing` is spread
    over all words. Padding costs nothing.
    """

    def loss(model: nn.Module, batch: PaddedBatch) -> tuple[Tensor, int]:
        logits = model(batch.source, batch.given, batch.source_mask)
        value = F.cross_entropy(
            logits.flatten(0, 1),
            batch.wanted.flatten(),
            ignore_index=PAD,
            label_smoothing=smoothing,
        )
        return value, int((batch.wanted != PAD).sum())

    return loss


def warm_up(rising: int, total: int) -> Callable[[int], float]:
    """A factor on the learning rate: up in a line for `rising` steps, then down to zero."""

    def factor(step: int) -> float:
        return max(0.0, min(step / rising, (total - step + 1) / max(1, total - rising)))

    return factor


# --- translating -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Recipe:
    """Sizes of a transformer and how to train it."""

    epochs: int
    d_model: int = 256
    num_heads: int = 8
    num_layers: int = 2
    d_ff: int = 512
    dropout: float = 0.1
    lr: float = 1.5e-3
    rising: int = 300
    words: int = 1500
    smoothing: float = 0.1
    max_seconds: float | None = None


RECIPES = {
    "smoke": Recipe(
        epochs=2,
        d_model=64,
        num_heads=4,
        num_layers=1,
        d_ff=128,
        dropout=0.0,
        lr=4e-3,
        rising=60,
        words=500,
    ),
    # As many minutes as notebook 04 takes for its translator.
    "quick": Recipe(epochs=3, lr=1e-3, words=750),
    "full": Recipe(epochs=12, num_layers=3, dropout=0.2, lr=1e-3, rising=600),
}


def start_well(model: nn.Module) -> None:
    """Give a fresh transformer numbers it can learn from.

    A word that is multiplied by sqrt(d_model) and its position should be about equally large;
    positions that are drowned by words are found late.
    """
    for name, parameter in model.named_parameters():
        if "embedding" in name:
            nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5)
        elif "positions" in name:
            nn.init.normal_(parameter, std=0.7)
        elif parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)


def make_translator(transformer: type[nn.Module], data: Encoded, recipe: Recipe) -> nn.Module:
    """A transformer of the given class for the two vocabularies, ready to be trained.

    The readout shares its matrix with the target's embedding: both say what a word is like, and
    it is learned once, not twice.
    """
    model = transformer(
        recipe.d_model,
        recipe.num_heads,
        recipe.num_layers,
        recipe.d_ff,
        len(data.source_vocabulary),
        len(data.target_vocabulary),
        True,
        recipe.dropout,
        LONGEST,
    )
    start_well(model)
    model.readout.weight = model.target_embedding.weight
    return model


def train_translator(
    model: nn.Module, data: Encoded, recipe: Recipe, *, seed: int = 0, **how
) -> History:
    """Train on padded batches, and keep the weights of the lowest validation loss.

    `how` goes to `fit`: `checkpoint`, `max_seconds`, `show` and so on.
    """
    examples = [e for e in data.train if max(len(e.source), len(e.target) + 1) <= LONGEST]
    total = recipe.epochs * len(padded_batches(examples, recipe.words))
    valid = padded_batches(data.valid, 3000)
    plain = smoothed_loss(0.0)

    def validate(model: nn.Module) -> dict[str, float]:
        device = next(model.parameters()).device
        value = words = 0.0
        for batch in valid:
            loss, count = plain(model, PaddedBatch(*(part.to(device) for part in batch)))
            value, words = value + loss.item() * count, words + count
        return {"loss": value / words, "perplexity": math.exp(value / words)}

    return fit(
        model,
        lambda epoch: padded_batches(examples, recipe.words, seed=1000 * seed + epoch),
        smoothed_loss(recipe.smoothing),
        epochs=recipe.epochs,
        optimiser=partial(adam, betas=(0.9, 0.98), eps=1e-9),
        lr=recipe.lr,
        schedule=warm_up(recipe.rising, total),
        validate=validate,
        seed=seed,
        **{"max_seconds": recipe.max_seconds, **how},
    )


def next_word(model: nn.Module, source: Tensor) -> Callable[[Tensor], Tensor]:
    """The `step` that a decoder asks: prefixes [B, t] -> log-probabilities [B, V].

    `source` [B, S] is padded. It is encoded once. With one source alone there may be any number
    of prefixes, as a beam has. Marks that are no words are never proposed.
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
        logits[:, [PAD, UNKNOWN, START]] = -math.inf
        return F.log_softmax(logits, dim=-1)

    return step


def translate(
    model: nn.Module,
    data: Encoded,
    sources: Sequence[Sequence[int]],
    decode: Decode,
    size: int = 100,
) -> list[list[str]]:
    """The words that the model writes for each source, with a decoder of your own.

    `decode(step, first [B], end, max_length)` returns tokens [B, T], as `greedy_decode` does.
    """
    device = next(model.parameters()).device
    order = sorted(range(len(sources)), key=lambda place: len(sources[place]))
    written: dict[int, list[str]] = {}
    for start in range(0, len(order), size):
        places = order[start : start + size]
        source = pad([sources[place][:LONGEST] for place in places]).to(device)
        limit = min(LONGEST, 2 * source.shape[1] + 10)
        first = torch.full((len(places),), START, device=device)
        tokens = decode(next_word(model, source), first, END, limit)
        for place, row in zip(places, tokens.tolist(), strict=True):
            written[place] = data.target_vocabulary.decode(row)
    return [written[place] for place in range(len(sources))]
