"""Text that is on every machine: the source of Python's standard library, as bytes.

The library differs between versions of Python. Files are held out by name, and the names are in
every version that the course supports.
"""

from __future__ import annotations

import gzip
import sysconfig
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HELD_OUT = (
    "configparser.py",
    "csv.py",
    "fractions.py",
    "heapq.py",
    "queue.py",
    "shutil.py",
    "statistics.py",
    "textwrap.py",
)


@dataclass(frozen=True)
class Texts:
    """What a model learns from, what it is measured on, and a sentence that describes both."""

    train: bytes
    held_out: bytes
    note: str


def standard_library(library: str | Path | None = None) -> Texts:
    """The modules of the standard library, or PyTorch's if their source is not on this machine."""
    library = Path(library or sysconfig.get_path("stdlib"))
    found = dict(_modules(library))
    if set(HELD_OUT) <= set(found):
        held_out = b"".join(found.pop(name) for name in HELD_OUT)
        size = sum(map(len, found.values())) / 1e6
        note = (
            f"This Python's standard library: {len(found)} files to learn from "
            f"({size:.1f} million bytes), {len(HELD_OUT)} held out."
        )
        return Texts(b"".join(found.values()), held_out, note)
    import torch.nn.modules

    files = sorted(Path(torch.nn.modules.__file__).parent.glob("*.py"))
    train = [file for i, file in enumerate(files) if i % 8]
    return Texts(
        b"".join(file.read_bytes() for file in train),
        b"".join(file.read_bytes() for file in files[::8]),
        f"{library} has no Python source, so the source of PyTorch's modules is used instead. "
        "Your figures will differ from those in the text.",
    )


def _modules(library: Path) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of the library's modules, in a folder or in a zip; private ones left out."""
    if library.is_dir():
        for path in sorted(library.glob("[!_]*.py")):
            yield path.name, path.read_bytes()
    elif zipfile.is_zipfile(library):
        with zipfile.ZipFile(library) as packed:
            for name in sorted(packed.namelist()):
                if name.endswith(".py") and "/" not in name and not name.startswith("_"):
                    yield name, packed.read(name)


def gzip_bits(text: bytes) -> float:
    """Bits per byte after gzip, which has read nothing before."""
    return 8 * len(gzip.compress(text, 9)) / len(text)


def bigram_bits(train: bytes, text: bytes) -> float:
    """Bits per byte of a table that counts which byte follows which in `train`."""
    counts = np.full((256, 256), 0.1)  # what never occurred is unlikely, not impossible
    learned, asked = np.frombuffer(train, np.uint8), np.frombuffer(text, np.uint8)
    np.add.at(counts, (learned[:-1], learned[1:]), 1)
    probabilities = counts / counts.sum(axis=1, keepdims=True)
    return float(-np.log2(probabilities[asked[:-1], asked[1:]]).mean())
