"""From a trained model to words: one way to translate, and the `step` of a search."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.data.batches import length_batches
from course_utils.data.corpus import Encoded
from course_utils.data.tokens import NEVER_WRITTEN
from course_utils.translation.fast_decoding import greedy
from course_utils.translation.model import Translator

# What a model writes: write(model, sources) returns, for each source, the numbers of the words and
# the attention weights [T, S], or None.
Write = Callable[[Any, Sequence[Sequence[int]]], Sequence[tuple[list[int], Tensor | None]]]


@dataclass(frozen=True)
class Translation:
    """The words that a model wrote, and where it looked for each: weights [T, S], including `</s>`.

    `weights` is None for models that do not report where they look.
    """

    words: list[str]
    weights: Tensor | None = None


def translate(
    model: nn.Module,
    data: Encoded,
    sources: Sequence[Sequence[int]] | None = None,
    write: Write = greedy,
) -> list[Translation]:
    """Translations of the sources, in the same order; without sources, of the test sentences.

    `write(model, sources)` is how the model writes: `greedy` for the translator of notebook 04.
    """
    if sources is None:
        sources = [example.source for example in data.test]
    return [
        Translation(data.target_vocabulary.decode(numbers), weights)
        for numbers, weights in write(model, sources)
    ]


@torch.inference_mode()
def gold_weights(model: Translator, data: Encoded, split: str = "test") -> list[Tensor]:
    """Where the model looks for each word of the reference translation: one [T, S] per pair."""
    model.eval()
    device = next(model.parameters()).device
    examples = getattr(data, split)
    found: dict[int, Tensor] = {}
    for batch in length_batches(examples, 128):
        states, hidden = model.encode(batch.source.T.to(device))
        _, _, weights = model.decode(batch.given.T.to(device), states, hidden)
        for column, place in enumerate(batch.places):
            found[place] = weights[: len(examples[place].target), column].cpu()
    return [found[example.place] for example in examples]


def prefix_scorer(
    model: Translator, data: Encoded, source: Sequence[int]
) -> Callable[[Tensor], Tensor]:
    """The `step` function for beam search: prefixes [N, L] -> log-probabilities [N, V].

    Each prefix begins with the start mark. The hidden states of known prefixes are kept, so a
    prefix that has grown by one word costs only one recurrent step.
    """
    model.eval()
    device = next(model.parameters()).device
    with torch.inference_mode():
        states, first = model.encode(torch.tensor(source, device=device)[:, None])
    known: dict[tuple[int, ...], Tensor] = {(): first[0]}

    def hidden_before(prefix: tuple[int, ...]) -> Tensor:
        if prefix not in known:
            hiddens, _ = model.decoder(
                model.target_embedding(torch.tensor(prefix, device=device))[:, None],
                first[None],
            )
            known[prefix] = hiddens[-1, 0]
        return known[prefix]

    @torch.inference_mode()
    def step(prefixes: Tensor) -> Tensor:
        rows = [tuple(row) for row in prefixes.tolist()]
        before = torch.stack([hidden_before(row[:-1]) for row in rows])
        last = torch.tensor([row[-1] for row in rows], device=device)
        hidden = model.decoder(model.target_embedding(last)[None], before[None])[1][0]
        known.update(zip(rows, hidden, strict=True))
        contexts, _ = model.attention(hidden, states.expand(-1, len(rows), -1))
        logits = model.scores(contexts, hidden)
        logits[:, NEVER_WRITTEN] = -math.inf
        return F.log_softmax(logits, dim=-1)

    return step
