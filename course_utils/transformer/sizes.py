"""The size of a stack of transformer layers, for the models of notebooks 06 and 07."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """How large a transformer is, and the share that dropout sets to zero during training."""

    d_model: int = 128
    num_heads: int = 4
    num_layers: int = 3
    d_ff: int = 256
    dropout: float = 0.1
    max_length: int = 320  # positions
