"""The translator of this course: it reads with one GRU, writes with another, and attends."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from weakref import WeakSet

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from course_utils.data.batches import Batch, Example, length_batches
from course_utils.data.corpus import Encoded
from course_utils.data.tokens import END, PAD, START, UNKNOWN
from course_utils.training.devices import adam
from course_utils.training.history import History
from course_utils.training.loop import fit
from course_utils.training.losses import word_loss


@dataclass(frozen=True)
class Sizes:
    """How wide the layers are, and how much of them dropout hides while training."""

    words: int = 256
    encoder: int = 256
    decoder: int = 256
    dropout: float = 0.3


# --- attention: two baselines, and how a module for one step serves all steps --------------


class Dummy(nn.Module):
    """No attention: the decoder gets zeros, whatever the source says."""

    def forward(self, hidden, encoder_outputs):
        S, B, width = encoder_outputs.shape
        return encoder_outputs.new_zeros(B, width), encoder_outputs.new_zeros(B, S)


class MeanPool(nn.Module):
    """The same attention to every word: the decoder gets the mean of the states."""

    def forward(self, hidden, encoder_outputs):
        S, B, _ = encoder_outputs.shape
        return encoder_outputs.mean(dim=0), encoder_outputs.new_full((B, S), 1 / S)


def attend_step_by_step(attention: nn.Module, hiddens: Tensor, states: Tensor):
    """Ask the attention once for each target step: contexts [T, B, 2E], weights [T, B, S]."""
    contexts, weights = zip(*(attention(hidden, states) for hidden in hiddens), strict=True)
    return torch.stack(contexts), torch.stack(weights)


class _Product(torch.autograd.Function):
    """A batched product that knows what to do when only its left side has many steps.

    vmap alone would copy the right side (the keys, the values) once for each step. Here the
    steps become more rows of the left side, which is one larger product without a copy.
    """

    @staticmethod
    def forward(left, right):
        return torch.bmm(left, right)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, flow):
        left, right = ctx.saved_tensors
        return flow @ right.transpose(1, 2), left.transpose(1, 2) @ flow

    @staticmethod
    def vmap(info, in_dims, left, right):
        left_dim, right_dim = in_dims
        if left_dim is None or right_dim is not None:
            steps = [t if d is None else t.movedim(d, 0) for t, d in zip((left, right), in_dims)]
            return torch.matmul(*steps), 0
        rows = left.movedim(left_dim, 1)  # [B, T, n, K]
        B, T, n, _ = rows.shape
        product = torch.bmm(rows.reshape(B, T * n, -1), right)
        return product.view(B, T, n, -1), 1


class _ProductsTogether(TorchFunctionMode):
    """Inside it, batched products take the way of `_Product`."""

    PRODUCTS = frozenset({torch.bmm, torch.matmul, Tensor.bmm, Tensor.matmul, Tensor.__matmul__})

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in self.PRODUCTS and not kwargs and all(t.dim() == 3 for t in args):
            left, right = args
            if left.shape[0] == right.shape[0]:
                return _Product.apply(left, right)
        return func(*args, **(kwargs or {}))


def attend_all_steps(attention: nn.Module, hiddens: Tensor, states: Tensor):
    """The same numbers as `attend_step_by_step`, from one call for all target steps.

    `torch.vmap` runs a module that was written for one step over many of them, and what
    depends on the source alone, such as the keys, is computed once. A module that vmap cannot
    run (one that calls `.item()`, for example) is asked step by step.
    """
    if attention not in _only_step_by_step:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                together = torch.vmap(attention, in_dims=(0, None), randomness="different")
                with _ProductsTogether():
                    return together(hiddens, states)
        except Exception:
            # If the module itself is at fault, the loop raises an error its author can read.
            answer = attend_step_by_step(attention, hiddens, states)
            _only_step_by_step.add(attention)
            return answer
    return attend_step_by_step(attention, hiddens, states)


_only_step_by_step: WeakSet = WeakSet()


# --- the model -----------------------------------------------------------------------------


class Translator(nn.Module):
    """Equations 3 to 12, with the attention as an argument.

    The output layer is the largest matrix by far. Here W_d of equation 12 is a product of two:
    [context, hidden] is first narrowed to the size of a word, then compared with every word's
    own vector. That is a third of the work, and the words are learned once, not twice.
    """

    def __init__(
        self, source_words: int, target_words: int, attention: nn.Module, sizes: Sizes | None = None
    ):
        super().__init__()
        sizes = sizes or Sizes()
        self.attention = attention
        self.dropout = nn.Dropout(sizes.dropout)
        self.source_embedding = nn.Embedding(source_words, sizes.words, padding_idx=PAD)
        self.encoder = nn.GRU(sizes.words, sizes.encoder, bidirectional=True)
        self.sentence = nn.Linear(2 * sizes.encoder, sizes.decoder)
        self.target_embedding = nn.Embedding(target_words, sizes.words, padding_idx=PAD)
        self.decoder = nn.GRU(sizes.words, sizes.decoder)
        self.narrow = nn.Linear(2 * sizes.encoder + sizes.decoder, sizes.words, bias=False)
        self.output = nn.Linear(sizes.words, target_words)
        self.output.weight = self.target_embedding.weight
        for embedding in (self.source_embedding, self.target_embedding):
            nn.init.normal_(embedding.weight, std=sizes.words**-0.5)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """source [S, B] -> states [S, B, 2E] (equation 6), first hidden [B, D] (7 and 8)."""
        states, last = self.encoder(self.dropout(self.source_embedding(source)))
        return states, F.relu(self.sentence(torch.cat([last[0], last[1]], dim=-1)))

    def decode(self, given: Tensor, states: Tensor, hidden: Tensor, attend=attend_all_steps):
        """given [T, B] -> contexts [T, B, 2E], hiddens [T, B, D], weights [T, B, S] (9 to 11).

        Attention comes after the recurrent step and nothing of it flows back, so the GRU runs
        over all the steps at once.
        """
        embedded = self.dropout(self.target_embedding(given))
        hiddens, _ = self.decoder(embedded, hidden[None].contiguous())
        contexts, weights = attend(self.attention, hiddens, states)
        return contexts, hiddens, weights

    def features(self, contexts: Tensor, hiddens: Tensor) -> Tensor:
        """What the decoder is about to say, as a vector of the size of a word."""
        joined = self.dropout(torch.cat([contexts, hiddens], dim=-1))
        return self.dropout(self.narrow(joined))

    def scores(self, contexts: Tensor, hiddens: Tensor) -> Tensor:
        """The scores of all words before the softmax of equation 12: [..., V]."""
        return self.output(self.features(contexts, hiddens))

    def forward(self, source: Tensor, given: Tensor) -> tuple[Tensor, Tensor]:
        """source [S, B], given [T, B] -> scores [T, B, V], weights [T, B, S]."""
        states, hidden = self.encode(source)
        contexts, hiddens, weights = self.decode(given, states, hidden)
        return self.scores(contexts, hiddens), weights


def make_translator(data: Encoded, attention: nn.Module, sizes: Sizes | None = None) -> Translator:
    """A translator for the two vocabularies of a corpus."""
    return Translator(len(data.source_vocabulary), len(data.target_vocabulary), attention, sizes)


# --- training ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recipe:
    """How to train: epochs, learning rate (it rises, then falls to nothing), batch size."""

    epochs: int
    lr: float = 2e-3
    batch_size: int = 128
    rising_steps: int = 200
    examples: int | None = None
    sizes: Sizes = Sizes()


RECIPES = {
    "smoke": Recipe(
        epochs=2,
        lr=8e-3,
        batch_size=32,
        rising_steps=40,
        sizes=Sizes(words=96, encoder=96, decoder=96, dropout=0.0),
    ),
    "quick": Recipe(epochs=4, batch_size=64, sizes=Sizes(dropout=0.2)),
    "full": Recipe(epochs=8, batch_size=64),
}


def translation_loss(model: Translator, batch: Batch) -> tuple[Tensor, int]:
    """The mean loss of the words to predict, and how many they are; padding costs nothing."""
    states, hidden = model.encode(batch.source)
    contexts, hiddens, _ = model.decode(batch.given, states, hidden)
    real = batch.wanted != PAD
    features = model.features(contexts[real], hiddens[real])
    return word_loss(features, model.output, batch.wanted[real]), len(features)


@torch.no_grad()
def mean_loss(model: nn.Module, examples: Sequence[Example], loss_of=translation_loss) -> float:
    """The loss a word on these examples; its exponential is the perplexity."""
    model.eval()
    device = next(model.parameters()).device
    total = words = 0.0
    for batch in length_batches(examples, 128):
        on_device = batch._replace(
            source=batch.source.to(device),
            given=batch.given.to(device),
            wanted=batch.wanted.to(device),
        )
        loss, count = loss_of(model, on_device)
        total, words = total + loss.item() * count, words + count
    return total / words


def train_translator(
    model: nn.Module,
    data: Encoded,
    recipe: Recipe,
    *,
    seed: int = 0,
    loss_of: Callable[[nn.Module, Batch], tuple[Tensor, int]] = translation_loss,
    pause_after: float | None = None,
    **how,
) -> History:
    """Train, show the progress, and keep the weights of the lowest validation loss.

    After `pause_after` seconds no new epoch begins; with a `checkpoint`, the same call goes on
    from there. `how` goes to `fit`: `checkpoint`, `max_seconds`, `show` and so on.
    """
    started = time.perf_counter()
    examples = data.train[: recipe.examples]
    steps = recipe.epochs * len(length_batches(examples, recipe.batch_size))

    def schedule(step: int) -> float:
        rising = step / recipe.rising_steps
        falling = (steps - step) / max(1, steps - recipe.rising_steps)
        return max(0.01, min(rising, falling))

    def validate(model: nn.Module) -> dict[str, float]:
        loss = mean_loss(model, data.valid, loss_of)
        return {"loss": loss, "perplexity": math.exp(loss)}

    def batches(epoch: int) -> list[Batch]:
        if pause_after is not None and time.perf_counter() - started > pause_after:
            raise KeyboardInterrupt  # as the interrupt button does: `fit` keeps what it has
        return length_batches(examples, recipe.batch_size, seed=1000 * seed + epoch)

    return fit(
        model,
        batches,
        loss_of,
        epochs=recipe.epochs,
        optimiser=partial(adam, betas=(0.9, 0.98)),
        lr=recipe.lr,
        schedule=schedule,
        validate=validate,
        seed=seed,
        **how,
    )


# --- translating ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Translation:
    """The words a model wrote, and where it looked for each: weights [T, S], `</s>` included."""

    words: list[str]
    weights: Tensor


class _SourceOnce(TorchFunctionMode):
    """Inside it, products of the source states and weights are computed once and remembered.

    While decoding, an attention module is called for each step with the same states, and would
    make the same keys from them again and again. This is most of its work.
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
        """The contexts of the sentences still here; where they looked is kept."""
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
        """Only these go on. The states follow when half of them are of no use any more."""
        if len(stay) == len(self.rows):
            return
        self.rows, self.slots = [self.rows[place] for place in stay], self.slots[stay]
        if 0 < 2 * len(self.rows) <= self.states.shape[1]:
            self._place(self.states[:, self.slots])

    def weights(self) -> dict[int, Tensor]:
        """For each sentence that was ever here, where it looked: [T, S]."""
        first, _ = self.written[0]
        place = {row: number for number, row in enumerate(first)}
        S = self.states.shape[0]
        all_steps = self.states.new_zeros(len(first), len(self.written), S)
        lengths = dict.fromkeys(first, 0)
        for step, (rows, weights) in enumerate(self.written):
            all_steps[[place[row] for row in rows], step] = weights
            lengths.update(dict.fromkeys(rows, step + 1))
        return {row: all_steps[place[row], : lengths[row]] for row in first}


def _largest(scores: Tensor) -> Tensor:
    """The place of the largest score in each row."""
    if scores.device.type == "cpu":  # here NumPy is several times as fast
        return torch.from_numpy(scores.numpy().argmax(axis=-1))
    return scores.argmax(dim=-1)


@torch.inference_mode()
def greedy(model: Translator, data: Encoded, sources: Sequence[Sequence[int]]) -> list[Translation]:
    """Translate sentences by always taking the most probable next word.

    All sentences are written together. The recurrent step and the output layer take them all
    at once; attention takes those of one source length at a time, so that it needs no mask.
    Sentences that have ended leave the batch.
    """
    model.eval()
    device = next(model.parameters()).device
    groups, hiddens = [], []
    for length in sorted({len(source) for source in sources}):
        rows = [row for row, source in enumerate(sources) if len(source) == length]
        states, hidden = model.encode(torch.tensor([sources[row] for row in rows], device=device).T)
        groups.append(_Group(rows, states))
        hiddens.append(hidden)
    everyone, hidden = groups, torch.cat(hiddens)
    last = torch.full((len(sources),), START, device=device)
    numbers: list[list[int]] = [[] for _ in sources]
    step = 0
    while groups:
        step += 1
        hidden = model.decoder(model.target_embedding(last)[None], hidden[None])[1][0]
        parts = hidden.split([len(group.rows) for group in groups])
        contexts = [
            group.attend(model.attention, part) for group, part in zip(groups, parts, strict=True)
        ]
        scores = model.scores(torch.cat(contexts), hidden)
        scores[:, [PAD, UNKNOWN, START]] = -math.inf
        last = _largest(scores)
        words = last.tolist()
        start, going = 0, []
        for group in groups:
            stay = []
            for place, row in enumerate(group.rows):
                numbers[row].append(words[start + place])
                if words[start + place] != END and step < group.limit:
                    stay.append(place)
            going += [start + place for place in stay]
            start += len(group.rows)
            group.keep(stay)
        groups = [group for group in groups if group.rows]
        if len(going) < len(words):
            hidden, last = hidden[going], last[going]
    looked = {row: weights for group in everyone for row, weights in group.weights().items()}
    return [
        Translation(data.target_vocabulary.decode(numbers[row]), looked[row])
        for row in range(len(sources))
    ]


def length_limit(source_length: int) -> int:
    """How many words a translation may have before it is cut off."""
    return 2 * source_length + 10


def translate(model: Translator, data: Encoded, split: str = "test") -> list[Translation]:
    """Greedy translations of a split, in its order."""
    return greedy(model, data, [example.source for example in getattr(data, split)])


@torch.inference_mode()
def gold_weights(model: Translator, data: Encoded, split: str = "test") -> list[Tensor]:
    """Where the model looks for each word of the reference translation: one [T, S] a pair."""
    model.eval()
    device = next(model.parameters()).device
    examples = getattr(data, split)
    found: dict[int, Tensor] = {}
    for batch in length_batches(examples, 128):
        states, hidden = model.encode(batch.source.to(device))
        _, _, weights = model.decode(batch.given.to(device), states, hidden)
        for column, place in enumerate(batch.places):
            found[place] = weights[: len(examples[place].target), column].cpu()
    return [found[example.place] for example in examples]


def prefix_scorer(
    model: Translator, data: Encoded, source: Sequence[int]
) -> Callable[[Tensor], Tensor]:
    """The `step` that beam search asks: prefixes [N, L] -> log-probabilities [N, V].

    Each prefix begins with the start mark. The hidden states of known prefixes are kept, so a
    prefix that grew by one word costs one recurrent step.
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
        scores = model.scores(contexts, hidden)
        scores[:, [PAD, UNKNOWN, START]] = -math.inf
        return F.log_softmax(scores, dim=-1)

    return step
