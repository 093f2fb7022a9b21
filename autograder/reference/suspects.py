"""Six small transformers with one fault each, and the record of how they behave once trained.

They reverse strings. Inside, each is a `torch.nn.Transformer`; they differ in how it is wired.
Students get only the record (`course_utils/transformer/suspects.json`), which names no fault:

    python -m autograder.reference.suspects
"""

import json
import warnings
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import course_utils.transformer
from autograder.oracles.find_the_bug import ANSWERS
from course_utils.data.batches import Batch, pad
from course_utils.data.tokens import END, PAD, START, UNKNOWN
from course_utils.training.loop import fit
from course_utils.transformer.suspects import LETTERS, LINE, LONGER, ORDERS

RECORD = Path(course_utils.transformer.__file__).with_name("suspects.json")
FIRST_LETTER = UNKNOWN  # there are no unknown letters, so the letters begin where <unk> would be
SIZE, LONGEST = FIRST_LETTER + len(LETTERS), 24
LENGTHS, LINES_PER_LENGTH = range(4, 9), 6  # the lengths in the training data
LAST_PLACE = 4  # positions after this one share its vector, in the model with that fault
EPOCHS, LR = 12, 3e-3


def batch_of(lines: list[str], shifted: bool = True) -> Batch:
    """Lines and their reversals as one padded batch."""
    numbers = [[FIRST_LETTER + LETTERS.index(letter) for letter in line] for line in lines]
    answers = [[*reversed(row), END] for row in numbers]
    given = [[START, *row[:-1]] for row in answers] if shifted else answers
    return Batch(pad(numbers), given=pad(given), wanted=pad(answers))


def draw(count: int, length: int, seed: int) -> list[str]:
    """Random lines of one length."""
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.randint(len(LETTERS), (count, length), generator=generator)
    return ["".join(LETTERS[n] for n in row) for row in numbers.tolist()]


class Reverser(nn.Module):
    """An encoder-decoder transformer for strings; one thing in it may be wired wrongly."""

    def __init__(self, fault: str | None = None, d_model: int = 32):
        super().__init__()
        self.fault = fault
        self.embedding = nn.Embedding(SIZE, d_model)
        self.positions = nn.Embedding(LONGEST, d_model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns that norm_first has no fast path
            self.core = nn.Transformer(
                d_model, 4, 1, 2, 64, dropout=0.0, batch_first=True, norm_first=True
            )
        self.readout = nn.Linear(d_model, SIZE)

    def _place(self, tokens: Tensor, told: bool) -> Tensor:
        x = self.embedding(tokens)
        if told:
            places = torch.arange(tokens.shape[1])
            if self.fault == "positions stop early":
                places = places.clamp(max=LAST_PLACE)
            x = x + self.positions(places)
        return F.dropout(x, 0.25, training=True) if self.fault == "dropout stays on" else x

    def forward(self, source: Tensor, given: Tensor) -> Tensor:
        """Logits [B, T, words] for a padded source [B, S] and what the decoder reads [B, T]."""
        length = given.shape[1]
        # True where attention is allowed; torch expects True where it is not.
        causal = torch.ones(length, length, dtype=torch.bool).tril()
        real = source != PAD
        leaks, blind = self.fault == "the future leaks", self.fault == "attends to padding"
        x = self.core(
            self._place(source, self.fault != "no source positions"),
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
        for _ in range(len(LONGER) + 1):  # whatever is in the batch
            best = self(source, tokens)[:, -1, END:].argmax(-1) + END
            tokens = torch.cat([tokens, best[:, None]], dim=1)
        return [_text(row) for row in tokens[:, 1:].tolist()]

    @torch.no_grad()
    def look(self, line: str, beside: str | None = None) -> dict[str, Tensor]:
        """Attention maps [layers * heads, T, S] while it reads what it read in training.

        With `beside`, both lines are in one batch, so the shorter one is padded.
        """
        self.eval()
        shifted = self.fault != "target not shifted"
        batch = batch_of([line, *([beside] if beside else [])], shifted)
        maps: dict[str, list[Tensor]] = {"itself": [], "source": []}
        hooks = []
        for layer in self.core.decoder.layers:
            hooks += _record(layer.self_attn, maps["itself"])
            hooks += _record(layer.multihead_attn, maps["source"])
        try:
            self(batch.source, batch.given)
        finally:
            for hook in hooks:
                hook.remove()
        return {kind: torch.cat(found) for kind, found in maps.items()}


def _record(module: nn.Module, maps: list[Tensor]) -> list:
    def ask(module, args, kwargs):
        return args, kwargs | {"need_weights": True, "average_attn_weights": False}

    def keep(module, args, output):
        maps.append(output[1][0])

    return [
        module.register_forward_pre_hook(ask, with_kwargs=True),
        module.register_forward_hook(keep),
    ]


def _text(tokens: list[int]) -> str:
    letters = tokens[: tokens.index(END)] if END in tokens else tokens
    return "".join(LETTERS[n - FIRST_LETTER] for n in letters)


def faulty_model(letter: str, seed: int = 0) -> Reverser:
    """The model called `letter`, before training."""
    torch.manual_seed(seed)
    return Reverser(ANSWERS[letter][0])


def training_batches(epoch: int, shifted: bool = True, *, batches: int = 40, size: int = 64):
    """Batches of one length each, so that nothing is padded in training."""
    for number in range(batches):
        seed = 1000 * epoch + number
        yield batch_of(draw(size, 4 + seed % 5, seed), shifted)


def reversal_loss(model: Reverser, batch: Batch) -> tuple[Tensor, int]:
    """The mean loss over the letters to predict, and their number; for `fit`."""
    logits = model(batch.source, batch.given)
    loss = F.cross_entropy(logits.flatten(0, 1), batch.wanted.flatten(), ignore_index=PAD)
    return loss, batch.words


def trained(model: Reverser, epochs: int = EPOCHS) -> list[float]:
    """Train a model in place and return its training loss after each epoch."""
    shifted = model.fault != "target not shifted"
    record = fit(
        model,
        lambda epoch: list(training_batches(epoch, shifted)),
        reversal_loss,
        epochs=epochs,
        lr=LR,
        show=False,
        device="cpu",
    )
    return record.column("train_loss")


def record_of(letter: str) -> dict:
    """Everything that is known about one model: losses, what it writes, where it attends."""
    model = faulty_model(letter)
    losses = trained(model)
    lines = [line for n in LENGTHS for line in draw(LINES_PER_LENGTH, n, seed=70 + n)]
    short = [line for line in lines if len(line) <= len(LINE)]
    return {
        "losses": [round(value, 3) for value in losses],
        "samples": [[line, model.write([line])[0]] for line in lines],
        "orders": [[line, model.write([line])[0]] for line in ORDERS],
        "neighbours": [
            [line, model.write([line])[0], model.write([line, LONGER])[0]] for line in short
        ],
        "twice": [[line, model.write([line])[0], model.write([line])[0]] for line in lines],
        "maps": {
            kind: {name: found.mul(100).round().int().tolist() for name, found in maps.items()}
            for kind, maps in (("alone", model.look(LINE)), ("padded", model.look(LINE, LONGER)))
        },
    }


def main() -> None:
    records = {letter: record_of(letter) for letter in ANSWERS}
    RECORD.write_text(json.dumps(records, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
