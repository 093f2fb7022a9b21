"""What it takes to train a translator, for each budget of a notebook."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Recipe:
    """How to train, and how large a model.

    epochs        how often all examples are seen
    lr            the highest learning rate: it rises for `rising_steps`, then falls to zero
    batch_size    sentence pairs in a batch, or about how many words where sources are padded
    smoothing     the share of each target that is spread over all words
    examples      only so many of the corpus; None for all
    average       keep the mean of the weights over about so many last steps; None: of one step
    sizes         what the model is built with
    """

    epochs: int
    lr: float = 2e-3
    batch_size: int = 64
    rising_steps: int = 200
    smoothing: float = 0.0
    examples: int | None = None
    average: int | None = None
    sizes: Any = None
