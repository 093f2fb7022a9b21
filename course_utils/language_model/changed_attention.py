"""What happens when attention is changed at test time, and the maps that show it."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from course_utils.data.batches import Example, length_batches
from course_utils.data.tokens import START
from course_utils.language_model.model import LanguageModel, joined_mask
from course_utils.language_model.training import target_scores


class _Changed(nn.Module):
    """PyTorch's attention, but the rows from `first_row` on come from changed queries or keys."""

    batch_first = False  # tells the layer not to take the short cut that goes past `forward`

    def __init__(self, attention: nn.MultiheadAttention, first_row: int, change: str, head, seed):
        super().__init__()
        self.attention, self.first_row, self.change = attention, first_row, change
        self.other = copy.deepcopy(attention)
        self.order = torch.randperm(first_row, generator=torch.Generator().manual_seed(seed))
        if change == "uniform":
            size = attention.embed_dim // attention.num_heads
            rows = slice(None, attention.embed_dim)
            if head is not None:
                rows = slice(head * size, (head + 1) * size)
            with torch.no_grad():  # without a query there is no preference: all scores become 0
                self.other.in_proj_weight[rows] = 0
                self.other.in_proj_bias[rows] = 0

    def forward(self, query: Tensor, key: Tensor, value: Tensor, attn_mask=None, **others):
        usual, _ = self.attention(query, key, value, attn_mask=attn_mask, need_weights=False)
        if self.change == "shuffled":
            key = torch.cat([key[:, self.order], key[:, self.first_row :]], dim=1)
        changed, _ = self.other(query, key, value, attn_mask=attn_mask, need_weights=False)
        return torch.cat([usual[:, : self.first_row], changed[:, self.first_row :]], dim=1), None


@contextlib.contextmanager
def changed_attention(
    model: LanguageModel,
    source_length: int,
    change: str,
    layer: int | None = None,
    head: int | None = None,
    seed: int = 0,
) -> Iterator[None]:
    """Inside the block the target's words attend differently; the source's words do not.

    "uniform"   the queries are zero, so all scores are equal
    "shuffled"  each source word's weight goes to another source word: the keys are permuted,
                the values are not (all heads of a layer together)
    `layer` and `head` name the place; None means all of them.
    """
    if change not in ("uniform", "shuffled") or (change == "shuffled" and head is not None):
        raise ValueError('The change is "uniform", or "shuffled" for all heads of a layer.')
    before = [one.self_attn for one in model.layers]
    for number, one in enumerate(model.layers):
        if layer in (None, number):
            one.self_attn = _Changed(one.self_attn, source_length, change, head, seed)
    try:
        yield
    finally:
        for one, attention in zip(model.layers, before):
            one.self_attn = attention


@torch.no_grad()
def changed_accuracy(
    model: LanguageModel, examples: Sequence[Example], two_way: bool, change: str = "", **where
) -> float:
    """The share of target words predicted right, given those before, with changed attention."""
    model.eval()
    right = words = 0
    for batch in length_batches(examples, 128):
        S = batch.source.shape[1]
        block = changed_attention(model, S, change, **where) if change else contextlib.nullcontext()
        with block:
            scores, wanted = target_scores(model, batch, two_way)
        right += int((scores.argmax(-1) == wanted).sum())
        words += len(wanted)
    return right / words


def sharpness(model: LanguageModel, examples: Sequence[Example]) -> Tensor:
    """The mean largest weight of the target's words on the source: [layers, num_heads]."""
    largest = []
    for one in examples:
        S = len(one.source)
        pair = model.join(torch.tensor([one.source]), torch.tensor([[START, *one.target]]))
        weights = attention_maps(model, pair)[:, 0, :, S:, :S]  # [layers, num_heads, T, S]
        largest.append(weights.amax(dim=-1).mean(dim=-1))
    return torch.stack(largest).mean(dim=0)


@torch.no_grad()
def attention_maps(model: LanguageModel, joined: Tensor, prefix: int = 0) -> Tensor:
    """The weights of every layer and head: [layers, B, heads, L, L]."""
    model.eval()
    mask = joined_mask(joined.shape[1], prefix)
    x, found = model.embed(joined), []
    for layer in model.layers:
        normed = layer.norm1(x)
        _, weights = layer.self_attn(
            normed, normed, normed, attn_mask=~mask, average_attn_weights=False
        )
        found.append(weights)
        x = layer(x, src_mask=~mask)
    return torch.stack(found)
