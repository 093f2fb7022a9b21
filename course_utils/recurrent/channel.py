"""A text sent through a channel of a known size: how much of it can come out again (notebook 02).

An encoder reads L symbols and may pass on n bits, each +1 or -1; a decoder predicts what the symbols
were. All symbols are equally likely and independent, so nobody can guess one from the others, and
information theory tells us how many can be right at most. A state of floating-point numbers has no
such bound: 32 of them have room for far more than any text here.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_utils.recurrent.capacity import ALPHABET, ChannelPoint, bound, keep_the_first
from course_utils.training.devices import seed_everything
from course_utils.training.loop import fit

BATCH_SIZE = 128
TEST_TEXTS = 2000
EPOCHS = 10


# --- the models ------------------------------------------------------------------------------


def to_bits(x: Tensor) -> Tensor:
    """+1 or -1 for each number. The sign has no gradient, so that of a clipped line replaces it."""
    line = x.clamp(-1, 1)
    sign = torch.where(x >= 0, 1.0, -1.0)
    return line + (sign - line).detach()


def _network(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


class OneMessage(nn.Module):
    """The whole text in one message of n bits, as a decoder without attention gets it."""

    def __init__(self, bits: int, length: int, alphabet: int = ALPHABET, hidden: int = 256):
        super().__init__()
        self.bits, self.length, self.alphabet = bits, length, alphabet
        self.encoder = _network(length * alphabet, hidden, bits)
        self.decoder = _network(bits, hidden, length * alphabet)

    @property
    def bits_sent(self) -> int:
        """The same number for every text."""
        return self.bits

    def forward(self, symbols: Tensor) -> Tensor:
        """From symbols [B, L] to the logits of each place [B, L, A]."""
        text = F.one_hot(symbols, self.alphabet).flatten(1).float()
        message = to_bits(self.encoder(text))  # [B, n]
        return self.decoder(message).unflatten(1, (self.length, self.alphabet))


class MessagePerSymbol(nn.Module):
    """A message of n bits for each symbol, and attention that finds the right one.

    Queries and keys are learned places: step t of the decoder has to learn where to look.
    """

    def __init__(self, bits: int, length: int, alphabet: int = ALPHABET, hidden: int = 64):
        super().__init__()
        self.bits, self.length, self.alphabet = bits, length, alphabet
        self.encoder = _network(alphabet, hidden, bits)
        self.queries = nn.Parameter(torch.randn(length, 32) / 32**0.25)
        self.keys = nn.Parameter(torch.randn(length, 32) / 32**0.25)
        self.decoder = _network(bits, hidden, alphabet)

    @property
    def bits_sent(self) -> int:
        """It grows with the text."""
        return self.bits * self.length

    def forward(self, symbols: Tensor) -> Tensor:
        """From symbols [B, L] to the logits of each place [B, L, A]."""
        messages = to_bits(self.encoder(F.one_hot(symbols, self.alphabet).float()))  # [B, L, n]
        weights = torch.softmax(self.queries @ self.keys.T, dim=-1)  # [L, L]
        return self.decoder(weights @ messages)


MODELS: dict[str, type[OneMessage] | type[MessagePerSymbol]] = {
    "one message": OneMessage,
    "attention": MessagePerSymbol,
}


# --- one measured point ----------------------------------------------------------------------


def draw(texts: int, length: int, alphabet: int, seed: int) -> Tensor:
    """Texts of equally likely, independent symbols [texts, length]."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(alphabet, (texts, length), generator=generator)


def channel_point(
    model: str,
    bits: int,
    length: int,
    *,
    steps: int = 1000,
    seed: int = 0,
    lr: float = 1e-2,
    alphabet: int = ALPHABET,
    show: bool = False,
) -> ChannelPoint:
    """Train one model on fresh texts, and test it on texts that it never saw."""
    if model not in MODELS:
        raise ValueError(f"The model is {model!r}, but it must be one of {', '.join(MODELS)}.")
    seed_everything(seed)
    network: OneMessage | MessagePerSymbol = MODELS[model](bits, length, alphabet)
    per_epoch = -(-steps // EPOCHS)

    def batches(epoch: int) -> list[Tensor]:
        first = 1_000_000 * (seed + 1) + epoch * per_epoch
        return [draw(BATCH_SIZE, length, alphabet, first + n) for n in range(per_epoch)]

    def loss(network: nn.Module, symbols: Tensor) -> tuple[Tensor, int]:
        scores = network(symbols).flatten(0, 1)
        return F.cross_entropy(scores, symbols.flatten()), symbols.numel()

    history = fit(
        network,
        batches,
        loss,
        epochs=EPOCHS,
        lr=lr,
        schedule=lambda step: max(0.02, 1 - step / (EPOCHS * per_epoch)),
        seed=seed,
        device="cpu",  # a model as small as this gains nothing on a GPU
        show=show,
    )
    rate = network.bits_sent / length
    return ChannelPoint(
        model,
        bits,
        length,
        rate,
        steps,
        seed,
        round(share_right(network, draw(TEST_TEXTS, length, alphabet, seed=0)), 4),
        round(bound(rate, alphabet), 4),
        round(keep_the_first(network.bits_sent, length, alphabet), 4),
        round(history.seconds, 2),
    )


@torch.no_grad()
def share_right(network: nn.Module, symbols: Tensor) -> float:
    """The share of symbols that come out as they went in; the message is binary here too."""
    return float((network.eval()(symbols).argmax(-1) == symbols).float().mean())
