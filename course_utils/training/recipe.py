"""The settings for training a translator, for each budget of a notebook."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Recipe:
    """How to train, and how large a model.

    epochs        how often every example is seen
    lr            the highest learning rate: it rises for `rising_steps`, then falls to zero
    batch_size    sentence pairs per batch, or roughly the number of words if sources are padded
    smoothing     the share of each target that is spread over all words
    examples      use only this many examples of the corpus; None for all
    average       keep the mean of the parameters over about this many last steps; None: no mean
    sizes         the sizes that the model is built with
    """

    epochs: int
    lr: float = 2e-3
    batch_size: int = 64
    rising_steps: int = 200
    smoothing: float = 0.0
    examples: int | None = None
    average: int | None = None
    sizes: Any = None
