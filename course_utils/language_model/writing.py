"""Writing token by token: translations and continued texts, with and without a cache."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.data.corpus import Encoded
from course_utils.data.tokens import END, START
from course_utils.language_model.byte_training import as_tokens
from course_utils.language_model.cache import with_cache
from course_utils.language_model.model import LanguageModel
from course_utils.language_model.training import measure
from course_utils.translation.decoding import Write, translate
from course_utils.translation.model import length_limit
from course_utils.translation.scores import bleu


def written_jointly(two_way: bool, size: int = 256) -> Write:
    """For `translate`: the most likely words, for sources of equal length together."""

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


def translation_figures(
    model: LanguageModel, data: Encoded, count: int, *, two_way: bool
) -> dict[str, float]:
    """Loss and accuracy over the test set; whole sentences right among its first `count`.

    BLEU is that of the whole test set, so it is not a number if `count` leaves some of it out.
    """
    test = data.test[:count]
    answers = translate(model, data, [one.source for one in test], written_jointly(two_way))
    translations = [answer.words for answer in answers]
    right = sum(
        words == data.target_vocabulary.decode(one.target)
        for words, one in zip(translations, test, strict=True)
    )
    whole = len(test) == len(data.test)
    return {
        **measure(model, data.test, two_way),
        "sentences": right / len(test),
        "BLEU": bleu(translations, data).tokens if whole else float("nan"),
    }


@dataclass(frozen=True)
class Written:
    """The tokens that were chosen, and how long each step took."""

    words: list[int]
    seconds: list[float]


def most_probable(logits: Tensor) -> int:
    return int(logits.argmax())


@torch.no_grad()
def write(
    model: Any,
    tokens: Tensor,
    count: int,
    choose: Callable[[Tensor], int] = most_probable,
    attention: type[nn.Module] | None = None,
    end: int | None = None,
) -> Written:
    """Continue from tokens [1, T] with up to `count` more; stop after the token `end`.

    `model` is a DecoderOnly. Without `attention`, each step runs it over the whole text (or as much
    of its end as there are positions for). With it, a class such as CachedSelfAttention, each step
    runs the model over the newest token alone, at the position that the text has reached.
    """
    model.eval()
    words: list[int] = []
    seconds: list[float] = []
    block = contextlib.nullcontext() if attention is None else with_cache(model, attention)
    with block:
        new = tokens
        while len(words) < count and (not words or words[-1] != end):
            started = time.perf_counter()
            if attention is None:
                logits = model(tokens[:, -model.max_length :])
            else:
                logits = model(new, tokens.shape[1] - new.shape[1])
            words.append(choose(logits[0, -1]))
            new = torch.tensor([[words[-1]]], device=tokens.device)
            tokens = torch.cat([tokens, new], dim=1)
            seconds.append(time.perf_counter() - started)
    return Written(words, seconds)


def write_text(
    model: Any, start: str, count: int, choose: Callable[[Tensor], int] = most_probable
) -> str:
    """`start`, continued by a model of bytes."""
    device = next(model.parameters()).device
    tokens = as_tokens(start.encode())[None].to(device)
    written = write(model, tokens, count, lambda logits: choose(logits.cpu()))
    return start + bytes(written.words).decode(errors="replace")
