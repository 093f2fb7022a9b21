"""Translation with one stack: source and target joined, each word predicted from those before it.

The layers are PyTorch's own. Only the mask makes a decoder-only model of them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from course_utils.transformer.sizes import Sizes


class LanguageModel(nn.Module):
    """Joined words in, logits of the next target word out.

    A source word keeps its number; a target word's number is shifted up by the size of the source
    vocabulary, so that one embedding table serves both languages.
    """

    layers: Any  # transformer layers, one after another

    def __init__(self, source_words: int, target_words: int, sizes: Sizes | None = None):
        super().__init__()
        self.sizes = sizes = sizes or Sizes()
        if sizes.d_model % sizes.num_heads:
            raise ValueError(
                f"{sizes.num_heads} heads do not divide d_model = {sizes.d_model}: "
                "choose sizes without a remainder."
            )
        self.source_words, self.target_words = source_words, target_words
        self.words = nn.Embedding(source_words + target_words, sizes.d_model)
        self.positions = nn.Embedding(sizes.max_length, sizes.d_model)
        for table in (self.words, self.positions):
            nn.init.normal_(table.weight, std=sizes.d_model**-0.5)
        self.dropout = nn.Dropout(sizes.dropout)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                sizes.d_model,
                sizes.num_heads,
                sizes.d_ff,
                sizes.dropout,
                activation="gelu",
                batch_first=True,
                norm_first=True,
            )
            for _ in range(sizes.num_layers)
        )
        self.norm = nn.LayerNorm(sizes.d_model)
        self.output = nn.Linear(sizes.d_model, target_words)

    def join(self, source: Tensor, target: Tensor) -> Tensor:
        """source [B, S], target [B, T] -> the joined words [B, S + T]."""
        return torch.cat([source, target + self.source_words], dim=1)

    def embed(self, joined: Tensor) -> Tensor:
        """Words plus positions."""
        end = joined.shape[1]
        if end > self.sizes.max_length:
            raise ValueError(
                f"The model has {self.sizes.max_length} positions, but the sequence needs {end}. "
                "Shorten it, or build the model with a larger max_length."
            )
        places = torch.arange(end, device=joined.device)
        return self.dropout(self.words(joined) + self.positions(places))

    def forward(self, joined: Tensor, prefix: int = 0, from_position: int = 0) -> Tensor:
        """joined [B, L] -> logits of the next target word [B, L - from_position, V].

        The first `prefix` words see each other in both directions; everything else is causal.
        """
        mask = joined_mask(joined.shape[1], prefix).to(joined.device)
        x = self.embed(joined)
        for layer in self.layers:
            x = layer(x, src_mask=~mask)  # PyTorch expects True where attention is not allowed
        return self.output(self.norm(x[:, from_position:]))


def joined_mask(length: int, prefix: int = 0) -> Tensor:
    """True where a position may look, [L, L]: at the past, and everywhere within the prefix."""
    if not 0 <= prefix <= length:
        raise ValueError(f"A prefix of {prefix} does not fit into a sequence of {length} words.")
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    mask[:prefix, :prefix] = True
    return mask
