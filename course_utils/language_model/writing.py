"""One word after the other: translations, and free continuations with and without a cache."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_utils.data.tokens import END, START
from course_utils.language_model.cache import with_cache
from course_utils.language_model.model import LanguageModel
from course_utils.translation.decoding import Write
from course_utils.translation.model import length_limit


def written_jointly(two_way: bool, size: int = 256) -> Write:
    """For `translate`: the most probable words, sources of one length together."""

    @torch.no_grad()
    def write(
        model: LanguageModel, sources: Sequence[Sequence[int]]
    ) -> list[tuple[list[int], None]]:
        model.eval()
        written: dict[int, list[int]] = {}
        for length in sorted({len(source) for source in sources}):
            places = [place for place, source in enumerate(sources) if len(source) == length]
            for start in range(0, len(places), size):
                some = places[start : start + size]
                found = _go_on(model, [sources[place] for place in some], two_way)
                written |= dict(zip(some, found, strict=True))
        return [(written[place], None) for place in range(len(sources))]

    return write


def _go_on(
    model: LanguageModel, sources: Sequence[Sequence[int]], two_way: bool
) -> list[list[int]]:
    source = torch.tensor(sources, device=next(model.parameters()).device)
    B, S = source.shape
    joined = model.join(source, torch.full((B, 1), START, device=source.device))
    ended = torch.zeros(B, dtype=torch.bool, device=source.device)
    for _ in range(length_limit(S)):
        last = joined.shape[1] - 1
        word = model(joined, S if two_way else 0, from_position=last)[:, 0].argmax(-1)
        joined = torch.cat([joined, word[:, None] + model.source_words], dim=1)
        ended |= word == END
        if ended.all():
            break
    return (joined[:, S + 1 :] - model.source_words).tolist()


@dataclass(frozen=True)
class Written:
    """The words that were chosen, and how long each step took."""

    words: list[int]
    seconds: list[float]


def most_probable(scores: Tensor) -> int:
    return int(scores.argmax())


@torch.no_grad()
def write(
    model: LanguageModel,
    joined: Tensor,
    count: int,
    choose: Callable[[Tensor], int] = most_probable,
    attention: type[nn.Module] | None = None,
    end: int | None = None,
) -> Written:
    """Go on from joined [1, L] by up to `count` words, causally; stop after the word `end`.

    Without `attention` each step runs the model over everything. With it, a class such as
    CachedSelfAttention, each step runs the model over the newest word alone.
    """
    model.eval()
    words: list[int] = []
    seconds: list[float] = []
    block = contextlib.nullcontext() if attention is None else with_cache(model, attention)
    with block:
        new = joined
        while len(words) < count and (not words or words[-1] != end):
            started = time.perf_counter()
            if attention is None:
                scores = model(joined, from_position=joined.shape[1] - 1)[0, 0]
            else:
                scores = model.step(new, joined.shape[1] - new.shape[1])[0]
            words.append(choose(scores))
            new = torch.tensor([[words[-1] + model.source_words]])
            joined = torch.cat([joined, new], dim=1)
            seconds.append(time.perf_counter() - started)
    return Written(words, seconds)
