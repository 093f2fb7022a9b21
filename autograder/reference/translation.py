"""The answers of the translation notebook, for the benchmarks: attention and beam search."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.data.corpus import Encoded
from course_utils.data.tokens import END, NEVER_WRITTEN, START
from course_utils.translation.model import Translator, length_limit


class SingleQueryScaledDotProductAttention(nn.Module):
    """alpha = softmax(q k_t / sqrt(kq_dim)); attended_val = sum_t alpha_t e_t."""

    def __init__(self, enc_hid_dim, dec_hid_dim, kq_dim=512):
        super().__init__()
        self.query = nn.Linear(dec_hid_dim, kq_dim)
        self.key = nn.Linear(2 * enc_hid_dim, kq_dim)

    def forward(self, hidden, encoder_outputs):
        query = self.query(hidden).unsqueeze(1)
        keys = self.key(encoder_outputs).permute(1, 2, 0)
        scores = torch.bmm(query, keys).squeeze(1) / math.sqrt(keys.shape[1])
        alpha = scores.softmax(dim=1)
        values = encoder_outputs.transpose(0, 1)
        return torch.bmm(alpha.unsqueeze(1), values).squeeze(1), alpha


@torch.inference_mode()
def beam_translate(
    model: Translator,
    data: Encoded,
    sources: Sequence[Sequence[int]],
    beam: int,
    length_penalty: float = 1.0,
    rows_at_once: int = 1600,
) -> list[list[str]]:
    """Translate many sentences together with a beam: the same search as in the exercise.

    At each step the `beam` best continuations of all unfinished prefixes are kept; those that
    end with `</s>` are put aside. A sentence is done when none is left, or at its limit.
    """
    model.eval()
    answers: list[list[str]] = [[] for _ in sources]
    for length in sorted({len(source) for source in sources}):
        rows = [row for row, source in enumerate(sources) if len(source) == length]
        at_once = max(1, rows_at_once // beam)
        for start in range(0, len(rows), at_once):
            part = rows[start : start + at_once]
            batch = torch.tensor([sources[row] for row in part]).T
            found = _search(model, batch, beam, length_penalty, length_limit(length))
            for row, numbers in zip(part, found, strict=True):
                answers[row] = data.target_vocabulary.decode(numbers)
    return answers


def _search(model, source: Tensor, beam: int, penalty: float, limit: int) -> list[list[int]]:
    B = source.shape[1]
    states, hidden = model.encode(source)
    # One row per prefix; every sentence has `beam` of them, with dead ones at minus infinity.
    states = states.repeat_interleave(beam, dim=1)
    hidden = hidden.repeat_interleave(beam, dim=0)
    totals = torch.full((B, beam), -math.inf)
    totals[:, 0] = 0.0
    prefixes = torch.full((B, beam, 1), START)
    best: list[tuple[float, list[int]]] = [(-math.inf, []) for _ in range(B)]
    going = torch.arange(B)
    for step in range(1, limit + 1):
        hidden = model.decoder(
            model.target_embedding(prefixes[:, :, -1].reshape(1, -1)), hidden[None]
        )[1][0]
        contexts, _ = model.attention(hidden, states)
        scores = model.scores(contexts, hidden)
        scores[:, NEVER_WRITTEN] = -math.inf
        logs = F.log_softmax(scores, dim=-1)
        words = logs.shape[1]
        # Only the `beam` best words of each prefix can be among the sentence's `beam` best.
        few_logs, few_words = logs.topk(min(beam, words), dim=-1)
        candidates = totals[:, :, None] + few_logs.view(len(going), beam, -1)
        totals, places = candidates.view(len(going), -1).topk(beam)
        origin = places // few_words.shape[1]
        new = few_words.view(len(going), -1).gather(1, places)
        offsets = torch.arange(len(going))[:, None] * beam
        prefixes = torch.cat(
            [prefixes.gather(1, origin[:, :, None].expand(-1, -1, step)), new[:, :, None]], dim=-1
        )
        hidden = hidden[(offsets + origin).view(-1)]
        ended = (new == END) if step < limit else torch.ones_like(new, dtype=torch.bool)
        normed = totals / step**penalty
        for row, place in ended.nonzero().tolist():
            score, sentence = normed[row, place].item(), int(going[row])
            if score > best[sentence][0]:
                best[sentence] = (score, prefixes[row, place, 1:].tolist())
        totals = totals.masked_fill(ended, -math.inf)
        stay = (totals > -math.inf).any(dim=1)
        if not stay.any():
            break
        if not stay.all():
            rows = stay.nonzero().squeeze(1)
            going, totals, prefixes = going[rows], totals[rows], prefixes[rows]
            kept = (rows[:, None] * beam + torch.arange(beam)).view(-1)
            hidden, states = hidden[kept], states[:, kept]
    return [numbers for _, numbers in best]
