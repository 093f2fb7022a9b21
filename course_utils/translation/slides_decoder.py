"""A lecture's decoder for French to English: scores from a linear layer, attention first.

It differs from the decoder in model.py in three ways. The scores come from the decoder's state
and input alone, one for each of `longest` positions, whatever is there: the keys are parameters
of the layer. The context is joined with the input through a ReLU layer. And attention comes
before the recurrent step, so the context of one step changes the state of the next, and the
steps can't all run at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.data.batches import Batch
from course_utils.data.corpus import Encoded
from course_utils.data.tokens import END, NEVER_WRITTEN, PAD, START
from course_utils.translation.fast_decoding import Written
from course_utils.translation.model import length_limit


class SlidesTranslator(nn.Module):
    """A GRU that reads and a GRU cell that writes, with linear scores over fixed positions."""

    def __init__(
        self,
        source_words: int,
        target_words: int,
        longest: int,
        size: int = 256,
        dropout: float = 0.1,
    ):
        super().__init__()
        self.longest = longest
        self.dropout = nn.Dropout(dropout)
        self.source_embedding = nn.Embedding(source_words, size, padding_idx=PAD)
        self.encoder = nn.GRU(size, size)
        self.target_embedding = nn.Embedding(target_words, size, padding_idx=PAD)
        self.scores_of_places = nn.Linear(2 * size, longest)  # W_a, b_a
        self.combine = nn.Linear(2 * size, size)  # W_c, b_c
        self.decoder = nn.GRUCell(size, size)  # f
        self.output = nn.Linear(size, target_words)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """source [S, B] -> states [longest, B, D], padded with zeros, and the last state [B, D]."""
        S = len(source)
        if self.longest < S:
            raise ValueError(
                f"A source of {S} words is longer than the {self.longest} positions that this "
                "decoder has."
            )
        states, last = self.encoder(self.dropout(self.source_embedding(source)))
        return F.pad(states, (0, 0, 0, 0, 0, self.longest - S)), last[0]

    def step(self, token: Tensor, hidden: Tensor, states: Tensor):
        """One word: token [B], hidden [B, D] -> logits [B, V], hidden [B, D], weights [B, longest].

        With the state d and the input u: weights = softmax(W_a [d, u] + b_a);
        c = sum of weights times states; z = ReLU(W_c [u, c] + b_c); the new d = GRU(z, d); and the
        logits of the words come from the new d.
        """
        x = self.dropout(self.target_embedding(token))
        weights = self.scores_of_places(torch.cat([hidden, x], dim=-1)).softmax(dim=-1)
        context = torch.einsum("bs,sbd->bd", weights, states)
        z = F.relu(self.combine(torch.cat([x, context], dim=-1)))
        hidden = self.decoder(z, hidden)
        return self.output(hidden), hidden, weights


def slides_loss(model: SlidesTranslator, batch: Batch) -> tuple[Tensor, int]:
    """The mean loss per word to predict, step by step, and the number of these words."""
    states, hidden = model.encode(batch.source.T)
    total, words = states.new_zeros(()), 0
    for given, wanted in zip(batch.given.T, batch.wanted.T, strict=True):
        logits, hidden, _ = model.step(given, hidden, states)
        total = total + F.cross_entropy(logits, wanted, ignore_index=PAD, reduction="sum")
        words += int((wanted != PAD).sum())
    return total / words, words


def short_enough(data: Encoded, longest: int) -> Encoded:
    """The same corpus without the training and validation pairs whose sources are longer."""
    kept = {
        split: [example for example in getattr(data, split) if len(example.source) <= longest]
        for split in ("train", "valid")
    }
    return Encoded(
        data.corpus, data.source_vocabulary, data.target_vocabulary, **kept, test=data.test
    )


@torch.inference_mode()
def slides_greedy(model: SlidesTranslator, sources: Sequence[Sequence[int]]) -> list[Written]:
    """For `translate`: the most probable words; the source is cut off after the last position."""
    model.eval()
    device = next(model.parameters()).device
    cut = [list(source[: model.longest]) for source in sources]
    parts: dict[int, tuple[Tensor, Tensor]] = {}
    for length in sorted({len(source) for source in cut}):
        rows = [row for row, source in enumerate(cut) if len(source) == length]
        batch = torch.tensor([cut[row] for row in rows], device=device).T
        states, hidden = model.encode(batch)
        parts |= {row: (states[:, i], hidden[i]) for i, row in enumerate(rows)}
    states = torch.stack([parts[row][0] for row in range(len(cut))], dim=1)
    hidden = torch.stack([parts[row][1] for row in range(len(cut))])
    token = torch.full((len(cut),), START, device=device)
    written, looked = [], []
    for _ in range(length_limit(max(len(source) for source in cut))):
        logits, hidden, weights = model.step(token, hidden, states)
        logits[:, NEVER_WRITTEN] = -math.inf
        token = logits.argmax(dim=-1)
        written.append(token)
        looked.append(weights)
        if (torch.stack(written) == END).any(dim=0).all():
            break
    numbers, weights = torch.stack(written, dim=1).tolist(), torch.stack(looked, dim=1)
    found = []
    for row, source in enumerate(cut):
        words = numbers[row]
        length = words.index(END) + 1 if END in words else len(words)
        found.append((words[:length], weights[row, :length, : len(source)]))
    return found
