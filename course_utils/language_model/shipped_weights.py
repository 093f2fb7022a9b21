"""The small model that comes with the course: its parameters, and the logits that they gave.

It was trained on the source of Python's standard library. Two layers are enough for heads that
work together.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_utils.language_model.byte_training import ByteRecipe, as_tokens

FILE = Path(__file__).with_name("shipped") / "python_bytes.npz"
RECIPE = ByteRecipe(64, 4, 2, 128, rounds=10, steps=300)
ASKED = 64  # bytes of the text whose logits are stored


@dataclass(frozen=True)
class Shipped:
    """Parameters by name, sizes for DecoderOnly, and a text with the logits that it should give."""

    weights: dict[str, Tensor]
    sizes: dict[str, int]
    text: bytes
    logits: Tensor  # [len(text), 256]


def shipped_model() -> Shipped:
    with np.load(FILE, allow_pickle=False) as file:
        arrays = dict(file)
    text = arrays.pop("asked/text").tobytes()
    logits = torch.from_numpy(arrays.pop("asked/logits").astype(np.float32))
    weights = {name: torch.from_numpy(a.astype(np.float32)) for name, a in arrays.items()}
    return Shipped(weights, RECIPE.sizes, text, logits)


@torch.no_grad()
def load_weights(model: Any, weights: dict[str, Tensor]) -> None:
    """Load parameters with PyTorch's names; the model's attention may have W_Q, W_K, W_V, W_O."""
    if not any(".W_Q." in name for name in model.state_dict()):
        model.load_state_dict(weights)
        return
    renamed = {}
    for name, value in weights.items():
        if ".in_proj_" in name:
            for part, rows in zip(("W_Q", "W_K", "W_V"), value.chunk(3)):
                renamed[name.replace("in_proj_", f"{part}.")] = rows
        else:
            renamed[name.replace(".out_proj.", ".W_O.")] = value
    model.load_state_dict(renamed)


@torch.no_grad()
def store(model: Any, text: bytes) -> Path:
    """Write the parameters in half precision, and the logits that they give."""
    model.load_state_dict({n: w.half().float() for n, w in model.state_dict().items()})
    model.eval()
    asked = text[:ASKED]
    logits = model(as_tokens(asked)[None])[0]
    arrays = {name: weight.half().numpy() for name, weight in model.state_dict().items()}
    arrays["asked/text"] = np.frombuffer(asked, np.uint8)
    arrays["asked/logits"] = logits.float().numpy()
    FILE.parent.mkdir(exist_ok=True)
    np.savez_compressed(FILE, **arrays)  # type: ignore[arg-type]
    return FILE
