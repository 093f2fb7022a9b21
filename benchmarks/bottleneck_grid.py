"""Measures the grid behind the curve of notebook 02: accuracy against length, run by run.

Each run is one line of `course_utils/measured/bottleneck_grid.csv`. Runs that the file already holds are
not done again, so the command can be stopped and started as often as you like:

    OMP_NUM_THREADS=1 python benchmarks/bottleneck_grid.py --workers 2 --minutes 7
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import torch
from torch import Tensor

from course_utils.recurrent.bottleneck import GRID, GRID_STEPS, grid_point, load_grid

CELLS = ("rnn", "gru")
HIDDEN = (32, 64, 128)
LENGTHS = {False: (2, 4, 6, 8, 12), True: (4, 12)}  # with attention the curve is flat
SEEDS = (0, 1, 2)
KEY = ("cell", "attention", "hidden", "length", "seed")
FIELDS = (*KEY, "steps", "train_accuracy", "valid_accuracy")


def dot_product(query: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
    """Attention for the slot: [B, T, D] and [B, S, D] to context [B, T, D], weights [B, T, S]."""
    weights = torch.softmax(query @ states.transpose(1, 2), dim=-1)
    return weights @ states, weights


def measure(setting: tuple) -> dict:
    """One run, in a process of its own."""
    torch.set_num_threads(1)
    cell, attention, hidden, length, seed = setting
    return grid_point(
        cell=cell,
        attention=dot_product if attention else None,
        hidden=hidden,
        length=length,
        seed=seed,
    )


def settings() -> list[tuple]:
    """All runs of the grid, one seed after the other, so that a part of it is of use."""
    return [
        (cell, attention, hidden, length, seed)
        for seed, cell, attention, hidden in itertools.product(SEEDS, CELLS, LENGTHS, HIDDEN)
        for length in LENGTHS[attention]
    ]


def write(records: list[dict], path: Path) -> None:
    """Write all records in one order, through a temporary file."""
    order = {setting: place for place, setting in enumerate(settings())}
    records = sorted(records, key=lambda r: order.get(tuple(r[k] for k in KEY), len(order)))
    temporary = path.with_suffix(".part")
    with temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    os.replace(temporary, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="start no run after this time")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--path", type=Path, default=GRID)
    options = parser.parse_args()
    records = load_grid(options.path) if options.path.exists() else []
    done = {tuple(r[k] for k in KEY) for r in records if r["steps"] == GRID_STEPS}
    missing = [setting for setting in settings() if setting not in done]
    print(f"{len(done)} runs are there, {len(missing)} to go")
    deadline = time.monotonic() + 60 * options.minutes
    waiting = iter(missing)
    with ProcessPoolExecutor(options.workers) as pool:
        running = {pool.submit(measure, s) for s in itertools.islice(waiting, options.workers)}
        while running:
            ready = next(as_completed(running))
            running.remove(ready)
            records.append(ready.result())
            write(records, options.path)
            print(*records[-1].values(), flush=True)
            if time.monotonic() < deadline and (after := next(waiting, None)) is not None:
                running.add(pool.submit(measure, after))
    print(f"{options.path} holds {len(records)} runs")


if __name__ == "__main__":
    main()
