"""Three small transformers with one fault each, for the student to find.

They reverse strings. All are `torch.nn.Transformer` inside; what differs is how it is wired.
Which model has which fault is not written here: read their behaviour, not this file.
"""

import warnings

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.data.batches import Batch, pad
from course_utils.data.tokens import END, PAD, START, UNKNOWN
from course_utils.transformer.bug_choices import FAULTS, REASONS, digest  # noqa: F401 - for notebooks

LETTERS = "abcdefgh"
FIRST_LETTER = UNKNOWN  # all letters are known, so they begin where it would be
SIZE, LONGEST = FIRST_LETTER + len(LETTERS), 24
# For each model, the start of a digest of its letter and its fault.
_WIRED = {"a": "22928a96bdcb4585", "b": "a20eee297bd1bee4", "c": "edacaedf243df752"}


def batch_of(lines: list[str]) -> Batch:
    """Lines and their reversals as one padded batch."""
    numbers = [[FIRST_LETTER + LETTERS.index(letter) for letter in line] for line in lines]
    return Batch(
        pad(numbers),
        given=pad([START, *reversed(row)] for row in numbers),
        wanted=pad([*reversed(row), END] for row in numbers),
    )


def draw(count: int, length: int, seed: int) -> list[str]:
    """Random lines of one length."""
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.randint(len(LETTERS), (count, length), generator=generator)
    return ["".join(LETTERS[n] for n in row) for row in numbers.tolist()]


class Reverser(nn.Module):
    """An encoder-decoder transformer for strings; one thing in it may be wired wrongly."""

    def __init__(self, fault: str | None = None, d_model: int = 32):
        super().__init__()
        self._fault = fault
        self.embedding = nn.Embedding(SIZE, d_model)
        self.positions = nn.Embedding(LONGEST, d_model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch says that norm_first has no fast path
            self.core = nn.Transformer(
                d_model, 4, 1, 2, 64, dropout=0.0, batch_first=True, norm_first=True
            )
        self.readout = nn.Linear(d_model, SIZE)

    def _place(self, tokens: Tensor, told: bool) -> Tensor:
        x = self.embedding(tokens)
        return x + self.positions.weight[: tokens.shape[1]] if told else x

    def forward(self, source: Tensor, given: Tensor) -> Tensor:
        """Logits [B, T, words] for a padded source [B, S] and what the decoder reads [B, T]."""
        length = given.shape[1]
        # True where attention is allowed; torch wants True where it is not.
        causal = torch.ones(length, length, dtype=torch.bool).tril()
        real = source != PAD
        leaks, blind = self._fault == "the future leaks", self._fault == "attends to padding"
        x = self.core(
            self._place(source, self._fault != "no source positions"),
            self._place(given, True),
            tgt_mask=None if leaks else ~causal,
            src_key_padding_mask=None if blind else ~real,
            memory_key_padding_mask=None if blind else ~real,
        )
        return self.readout(x)

    @torch.no_grad()
    def write(self, lines: list[str]) -> list[str]:
        """What the model writes for lines that are padded into one batch."""
        self.eval()
        source = batch_of(lines).source
        tokens = torch.full((len(lines), 1), START)
        for _ in range(max(map(len, lines)) + 1):
            best = self(source, tokens)[:, -1, END:].argmax(-1) + END
            tokens = torch.cat([tokens, best[:, None]], dim=1)
        return [_text(row) for row in tokens[:, 1:].tolist()]

    @torch.no_grad()
    def look(self, line: str, beside: str | None = None) -> dict[str, Tensor]:
        """Attention maps [heads, T, S] while it copies out the right answer to `line`.

        With `beside`, both lines are in one batch, so the shorter one is padded.
        """
        self.eval()
        batch = batch_of([line, *([beside] if beside else [])])
        maps: dict[str, Tensor] = {}
        hooks = []
        for number, layer in enumerate(self.core.decoder.layers):
            for name, module in (
                (f"decoder layer {number}, itself", layer.self_attn),
                (f"decoder layer {number}, source", layer.multihead_attn),
            ):
                hooks += _record(module, name, maps)
        try:
            self(batch.source, batch.given)
        finally:
            for hook in hooks:
                hook.remove()
        return maps


def _record(module: nn.MultiheadAttention, name: str, maps: dict) -> list:
    def ask(module, args, kwargs):
        return args, kwargs | {"need_weights": True, "average_attn_weights": False}

    def keep(module, args, output):
        maps[name] = output[1][0]

    return [
        module.register_forward_pre_hook(ask, with_kwargs=True),
        module.register_forward_hook(keep),
    ]


def _text(tokens: list[int]) -> str:
    letters = tokens[: tokens.index(END)] if END in tokens else tokens
    return "".join(LETTERS[n - FIRST_LETTER] for n in letters)


def faulty_model(letter: str, seed: int = 0) -> Reverser:
    """Model "a", "b" or "c", not trained yet."""
    if letter not in _WIRED:
        raise ValueError(f"There is no model {letter!r}. There are: {', '.join(_WIRED)}.")
    torch.manual_seed(seed)
    return Reverser(next(f for f in FAULTS if digest(letter, f) == _WIRED[letter]))


def training_batches(epoch: int, *, batches: int = 40, size: int = 64):
    """Batches of one length each, so that nothing is padded in training."""
    for number in range(batches):
        seed = 1000 * epoch + number
        yield batch_of(draw(size, 4 + seed % 5, seed))


def reversal_loss(model: Reverser, batch: Batch) -> tuple[Tensor, int]:
    """The mean loss of the letters to predict, and how many they are; for `fit`."""
    logits = model(batch.source, batch.given)
    loss = F.cross_entropy(logits.flatten(0, 1), batch.wanted.flatten(), ignore_index=PAD)
    return loss, batch.words
