"""The translator of this course: one GRU reads, another writes, and attention connects them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.data.tokens import PAD

Attend = Callable[[nn.Module, Tensor, Tensor], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Widths:
    """How wide the layers are, and how much of them dropout hides during training."""

    words: int = 256
    encoder: int = 256
    decoder: int = 256
    dropout: float = 0.3


class Dummy(nn.Module):
    """No attention: the decoder gets zeros, whatever the source is."""

    def forward(self, hidden, encoder_outputs):
        S, B, width = encoder_outputs.shape
        return encoder_outputs.new_zeros(B, width), encoder_outputs.new_zeros(B, S)


class MeanPool(nn.Module):
    """Equal attention to every word: the decoder gets the mean of the states."""

    def forward(self, hidden, encoder_outputs):
        S, B, _ = encoder_outputs.shape
        return encoder_outputs.mean(dim=0), encoder_outputs.new_full((B, S), 1 / S)


def attend_step_by_step(attention: nn.Module, hiddens: Tensor, states: Tensor):
    """Call the attention once per target step: contexts [T, B, 2E], weights [T, B, S]."""
    contexts, weights = zip(*(attention(hidden, states) for hidden in hiddens), strict=True)
    return torch.stack(contexts), torch.stack(weights)


class Translator(nn.Module):
    """Equations 1 to 10 of notebook 04, with the attention as an argument.

    `attend` calls the attention for all target steps; another function may do that faster. Time
    comes first in all tensors here, as it does in PyTorch's recurrent layers.

    The output layer is by far the largest matrix. Here W_d of equation 10 is the product of two:
    [context, hidden] is first narrowed to the size of a word's vector, then compared with the
    vector of every word. That is a third of the work, and each word's vector is learned only once.
    """

    def __init__(
        self,
        source_words: int,
        target_words: int,
        attention: nn.Module,
        widths: Widths | None = None,
        attend: Attend = attend_step_by_step,
    ):
        super().__init__()
        widths = widths or Widths()
        self.attention = attention
        self.attend = attend
        self.dropout = nn.Dropout(widths.dropout)
        self.source_embedding = nn.Embedding(source_words, widths.words, padding_idx=PAD)
        self.encoder = nn.GRU(widths.words, widths.encoder, bidirectional=True)
        self.sentence = nn.Linear(2 * widths.encoder, widths.decoder)
        self.target_embedding = nn.Embedding(target_words, widths.words, padding_idx=PAD)
        self.decoder = nn.GRU(widths.words, widths.decoder)
        self.narrow = nn.Linear(2 * widths.encoder + widths.decoder, widths.words, bias=False)
        self.output = nn.Linear(widths.words, target_words)
        self.output.weight = self.target_embedding.weight
        for embedding in (self.source_embedding, self.target_embedding):
            nn.init.normal_(embedding.weight, std=widths.words**-0.5)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """source [S, B] -> states [S, B, 2E] (equation 4), first hidden [B, D] (5 and 6)."""
        states, last = self.encoder(self.dropout(self.source_embedding(source)))
        return states, F.relu(self.sentence(torch.cat([last[0], last[1]], dim=-1)))

    def decode(self, given: Tensor, states: Tensor, hidden: Tensor):
        """given [T, B] -> contexts [T, B, 2E], hiddens [T, B, D], weights [T, B, S] (7 to 9).

        Attention comes after the recurrent step and does not feed back into it, so the GRU can
        run over all steps at once.
        """
        embedded = self.dropout(self.target_embedding(given))
        hiddens, _ = self.decoder(embedded, hidden[None].contiguous())
        contexts, weights = self.attend(self.attention, hiddens, states)
        return contexts, hiddens, weights

    def features(self, contexts: Tensor, hiddens: Tensor) -> Tensor:
        """What the decoder is about to write, as a vector of the size of a word's vector."""
        joined = self.dropout(torch.cat([contexts, hiddens], dim=-1))
        return self.dropout(self.narrow(joined))

    def scores(self, contexts: Tensor, hiddens: Tensor) -> Tensor:
        """The logits of all words, before the softmax of equation 10: [..., V]."""
        return self.output(self.features(contexts, hiddens))

    def forward(self, source: Tensor, given: Tensor) -> tuple[Tensor, Tensor]:
        """source [S, B], given [T, B] -> logits [T, B, V], weights [T, B, S]."""
        states, hidden = self.encode(source)
        contexts, hiddens, weights = self.decode(given, states, hidden)
        return self.scores(contexts, hiddens), weights


def length_limit(source_length: int) -> int:
    """How many words a translation may have before it is cut off."""
    return 2 * source_length + 10
