"""Trains the decoder-only model of notebook 07 on Python's standard library, as bytes.

    OMP_NUM_THREADS=1 python benchmarks/byte_model.py
    OMP_NUM_THREADS=1 python benchmarks/byte_model.py --refute    # other seeds

The model is the solution of notebook 07, read from its source file, with two layers. The curve goes
to course_utils/measured/byte_model.csv, next to the bits of gzip and of a bigram table. The weights
of seed 0 are those that the course ships: course_utils/language_model/shipped/python_bytes.npz.
"""

from __future__ import annotations

import argparse
import platform
import time
from dataclasses import dataclass, replace

import torch

from autograder import solutions
from course_utils.language_model.byte_training import (
    bits_per_byte,
    start_small,
    train_on_bytes,
)
from course_utils.language_model.python_source import bigram_bits, gzip_bits, standard_library
from course_utils.language_model.shipped_weights import RECIPE, store
from course_utils.measured import FOLDER
from course_utils.measured.tables import read_table, write_table

COMMAND = "OMP_NUM_THREADS=1 python benchmarks/byte_model.py [--refute]"
RESULTS = FOLDER / "byte_model.csv"


@dataclass(frozen=True)
class BytePoint:
    """Bits per byte on the held-out files after some steps of one run."""

    seed: int
    python: str
    steps: int
    cpu_minutes: float
    part: str  # "first 16 kB" while training, "all" at the end
    model: float
    gzip: float
    bigram: float


def run(seed: int) -> list[BytePoint]:
    texts = standard_library()
    print(texts.note, flush=True)
    torch.manual_seed(seed)
    model = solutions.solution("decoder-only-model")(**RECIPE.sizes)
    loss = solutions.solution("shifted-targets")
    start_small(model)
    started = time.process_time()
    history = train_on_bytes(
        model,
        texts.train,
        loss,
        RECIPE,
        held_out=texts.held_out,
        seed=seed,
        show=False,
    )
    minutes = (time.process_time() - started) / 60
    python = ".".join(platform.python_version_tuple()[:2])
    others = (gzip_bits(texts.held_out), bigram_bits(texts.train, texts.held_out))
    rounded = [round(bits, 4) for bits in others]
    rows = [
        BytePoint(
            seed,
            python,
            number * RECIPE.steps,
            round(minutes * number / len(history.records), 2),
            "first 16 kB",
            round(record["val_bits"], 4),
            *rounded,
        )
        for number, record in enumerate(history.records, 1)
    ]
    whole = round(bits_per_byte(model, texts.held_out, RECIPE.context), 4)
    if seed == 0:
        print("stored", store(model, texts.held_out))
    return [*rows, replace(rows[-1], part="all", model=whole)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--refute", action="store_true", help="seeds 1 and 2")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for seed in (1, 2) if options.refute else (0,):
        kept = [row for row in read_table(RESULTS, BytePoint) if row.seed != seed]
        rows = run(seed)
        write_table(RESULTS, [*kept, *rows], COMMAND)
        for row in rows:
            print(row)


if __name__ == "__main__":
    main()
