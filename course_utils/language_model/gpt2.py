"""GPT-2's published parameters, if there is a network: the file, and its tokens as text."""

from __future__ import annotations

import json
import shutil
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

ADDRESS = "https://huggingface.co/openai-community/gpt2/resolve/main/"
FILES = ("vocab.json", "model.safetensors")
FOLDER = Path.home() / ".cache" / "attention-course" / "gpt2"
PROMPT = (464, 3290, 318)  # "The dog is"
DTYPES = {"F32": np.float32, "F16": np.float16}


@dataclass(frozen=True)
class PublicGPT2:
    """Tensors by the names of the file, sizes for DecoderOnly, and the vocabulary."""

    state: dict[str, Tensor]
    vocabulary: dict[int, str]
    prompt: tuple[int, ...] = PROMPT

    @property
    def sizes(self) -> dict[str, int]:
        vocab_size, d_model = self.state["wte.weight"].shape
        return {
            "vocab_size": vocab_size,
            "d_model": d_model,
            "num_heads": d_model // 64,  # every GPT-2 has heads of 64 numbers
            "num_layers": sum(name.endswith("ln_1.weight") for name in self.state),
            "d_ff": 4 * d_model,
            "max_length": len(self.state["wpe.weight"]),
        }

    def decode(self, tokens) -> str:
        """The text of some tokens; the file writes a space as Ġ and a new line as Ċ."""
        words = "".join(self.vocabulary[int(token)] for token in tokens)
        return words.replace("Ġ", " ").replace("Ċ", "\n")


def public_gpt2(
    folder: Path = FOLDER, address: str = ADDRESS, download: bool = True
) -> PublicGPT2 | None:
    """The small GPT-2; where it is not available, print a sentence and return None."""
    missing = [name for name in FILES if not (folder / name).exists()]
    if missing and not download:
        print("GPT-2's parameters are downloaded only in the full budget.")
        return None
    try:
        for name in missing:
            _fetch(address + name, folder / name)
    except OSError as problem:
        print(f"GPT-2's parameters can't be downloaded here ({problem}). Nothing else needs them.")
        return None
    words = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    vocabulary = {number: word for word, number in words.items()}
    return PublicGPT2(read_safetensors(folder / "model.safetensors"), vocabulary)


def _fetch(address: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with urllib.request.urlopen(address, timeout=20) as source, part.open("wb") as target:
        shutil.copyfileobj(source, target)
    part.replace(path)


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file: the length of a header in JSON, the header, then the numbers."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        if entry["dtype"] not in DTYPES:
            continue  # masks of bytes: no parameters
        numbers = np.frombuffer(
            content[8 + length + start : 8 + length + end], DTYPES[entry["dtype"]]
        )
        tensors[name] = torch.from_numpy(numbers.reshape(entry["shape"]).astype(np.float32))
    return tensors
