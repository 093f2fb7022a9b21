"""Where the attention maps of string reversal have their peaks (notebook 03).

    OMP_NUM_THREADS=1 python benchmarks/reversal_map.py
    OMP_NUM_THREADS=1 python benchmarks/reversal_map.py --refute   # ten times the epochs

Step t of the decoder writes letter S - t + 1. State h_s has read the letters up to s, so h_s and
h_{s+1} both know letter s. This counts how many rows of the map have their largest weight on the
letter's own state, on the one after it, or elsewhere. It writes
course_utils/measured/reversal_map.csv; runs that are already in the file are not repeated.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import torch

from autograder.solutions import solution
from course_utils.measured import FOLDER
from course_utils.measured.tables import measure_missing
from course_utils.recurrent import reversal

COMMAND = "OMP_NUM_THREADS=1 python benchmarks/reversal_map.py [--refute]"
RESULTS = FOLDER / "reversal_map.csv"
LENGTHS, TEXTS = (11, 15, 19), 100
EPOCHS = 12


@dataclass(frozen=True)
class MapPoint:
    """The shares of rows whose peak is on the letter's state, on the next one, and elsewhere."""

    epochs: int
    seed: int
    letters: float
    own_state: float
    next_state: float
    elsewhere: float


@torch.no_grad()
def peaks(model) -> tuple[float, float, float]:
    counts = torch.zeros(3)
    for length in LENGTHS:
        batch = reversal.TASK.draw(TEXTS, length, seed=-1)
        _, weights = model(batch.source, batch.given)
        at = weights[:, :length].argmax(dim=-1)  # [B, T]; the end has no letter
        letter = torch.arange(length - 1, -1, -1)  # counted from 0
        own, after = at == letter, at == letter + 1
        counts += torch.stack([own.sum(), after.sum(), (~own & ~after).sum()])
    shares = (counts / counts.sum()).tolist()
    return shares[0], shares[1], shares[2]


def measure(epochs: int, seed: int) -> MapPoint:
    attention = solution("dot-prod-attention")
    model = reversal.make_model(lambda: attention(reversal.HIDDEN), seed=seed)
    reversal.train(model, epochs=epochs, seed=seed, show=False)
    letters = reversal.accuracy(model)["characters"]
    return MapPoint(epochs, seed, *(round(x, 4) for x in (letters, *peaks(model))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--refute", action="store_true", help="ten times the epochs")
    options = parser.parse_args()
    torch.set_num_threads(1)
    epochs = (10 if options.refute else 1) * EPOCHS
    settings = [{"epochs": epochs, "seed": seed} for seed in range(options.seeds)]
    for row in measure_missing(RESULTS, MapPoint, settings, measure, COMMAND):
        print(row)


if __name__ == "__main__":
    main()
