"""Greedy search for many sentences at once. It gives the same words as one sentence at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from course_utils.data.tokens import END, NEVER_WRITTEN, START
from course_utils.translation.model import Translator, length_limit

Written = tuple[list[int], Tensor]  # the numbers of the words, and where the model looked


class _SourceOnce(TorchFunctionMode):
    """Inside this block, products of source states and parameters are computed only once.

    During decoding, an attention module is called at each step with the same states, and would
    compute the same keys from them again and again. That is most of its work.
    """

    REMEMBERED = frozenset(
        {
            F.linear,
            torch.matmul,
            Tensor.matmul,
            Tensor.__matmul__,
            torch.transpose,
            Tensor.transpose,
            torch.permute,
            Tensor.permute,
        }
    )

    def __init__(self, states: Tensor):
        super().__init__()
        self.fixed = {id(states): states}
        self.answers: dict[tuple, Tensor] = {}

    def _is_fixed(self, value) -> bool:
        if isinstance(value, Tensor):
            return id(value) in self.fixed or isinstance(value, nn.Parameter)
        return value is None or isinstance(value, int)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if kwargs or func not in self.REMEMBERED or not all(map(self._is_fixed, args)):
            return func(*args, **(kwargs or {}))
        key = (func, *(id(a) if isinstance(a, Tensor) else a for a in args))
        if key not in self.answers:
            answer = func(*args)
            self.answers[key] = self.fixed[id(answer)] = answer
        return self.answers[key]


class _Group:
    """Sentences of one source length that are still being written."""

    def __init__(self, rows: list[int], states: Tensor):
        self.rows, self.limit = rows, length_limit(len(states))
        self.written: list[tuple[list[int], Tensor]] = []  # rows and their weights, step by step
        self._place(states)

    def _place(self, states: Tensor) -> None:
        self.states, self.once = states, _SourceOnce(states)
        self.slots = torch.arange(states.shape[1], device=states.device)

    def attend(self, attention: nn.Module, hidden: Tensor) -> Tensor:
        """The contexts of the sentences still being written; where they looked is kept."""
        whole = len(self.slots) == self.states.shape[1]
        if not whole:
            hidden = hidden.new_zeros(self.states.shape[1], hidden.shape[1]).index_copy(
                0, self.slots, hidden
            )
        with self.once:
            context, weights = attention(hidden, self.states)
        if not whole:
            context, weights = context[self.slots], weights[self.slots]
        self.written.append((self.rows, weights))
        return context

    def keep(self, stay: list[int]) -> None:
        """Only these continue. The states follow once half of them are no longer used."""
        if len(stay) == len(self.rows):
            return
        self.rows, self.slots = [self.rows[place] for place in stay], self.slots[stay]
        if 0 < 2 * len(self.rows) <= self.states.shape[1]:
            self._place(self.states[:, self.slots])

    def weights(self) -> dict[int, Tensor]:
        """For each sentence that was ever in this group, where it looked: [T, S]."""
        first, _ = self.written[0]
        place = {row: number for number, row in enumerate(first)}
        S = self.states.shape[0]
        all_steps = self.states.new_zeros(len(first), len(self.written), S)
        lengths = dict.fromkeys(first, 0)
        for step, (rows, weights) in enumerate(self.written):
            all_steps[[place[row] for row in rows], step] = weights
            lengths.update(dict.fromkeys(rows, step + 1))
        return {row: all_steps[place[row], : lengths[row]] for row in first}


@torch.inference_mode()
def greedy(model: Translator, sources: Sequence[Sequence[int]]) -> list[Written]:
    """Translate by always taking the most probable next word; return word numbers and weights.

    All sentences are written together. The recurrent step and the output layer process them all
    at once; attention processes those of one source length at a time, so that it needs no mask.
    Finished sentences leave the batch.
    """
    model.eval()
    groups, hidden = _encode_by_length(model, sources)
    everyone = groups
    last = torch.full((len(sources),), START, device=hidden.device)
    numbers: list[list[int]] = [[] for _ in sources]
    step = 0
    while groups:
        step += 1
        hidden = model.decoder(model.target_embedding(last)[None], hidden[None])[1][0]
        parts = hidden.split([len(group.rows) for group in groups])
        contexts = [
            group.attend(model.attention, part) for group, part in zip(groups, parts, strict=True)
        ]
        logits = model.scores(torch.cat(contexts), hidden)
        logits[:, NEVER_WRITTEN] = -math.inf
        last = _largest(logits)
        going = _write_down(last.tolist(), groups, numbers, step)
        groups = [group for group in groups if group.rows]
        if len(going) < len(last):
            hidden, last = hidden[going], last[going]
    looked = {row: weights for group in everyone for row, weights in group.weights().items()}
    return [(numbers[row], looked[row]) for row in range(len(sources))]


def _encode_by_length(
    model: Translator, sources: Sequence[Sequence[int]]
) -> tuple[list[_Group], Tensor]:
    """One group per source length, and the first hidden states in the same order."""
    device = next(model.parameters()).device
    groups, hiddens = [], []
    for length in sorted({len(source) for source in sources}):
        rows = [row for row, source in enumerate(sources) if len(source) == length]
        states, hidden = model.encode(torch.tensor([sources[row] for row in rows], device=device).T)
        groups.append(_Group(rows, states))
        hiddens.append(hidden)
    return groups, torch.cat(hiddens)


def _write_down(
    words: list[int], groups: list[_Group], numbers: list[list[int]], step: int
) -> list[int]:
    """Give each sentence its new word, let finished ones leave, and return the rows that stay."""
    start, going = 0, []
    for group in groups:
        stay = []
        for place, row in enumerate(group.rows):
            word = words[start + place]
            numbers[row].append(word)
            if word != END and step < group.limit:
                stay.append(place)
        going += [start + place for place in stay]
        start += len(group.rows)
        group.keep(stay)
    return going


def _largest(logits: Tensor) -> Tensor:
    """The index of the largest logit in each row."""
    if logits.device.type == "cpu":  # here NumPy is several times as fast
        return torch.from_numpy(logits.numpy().argmax(axis=-1))
    return logits.argmax(dim=-1)
