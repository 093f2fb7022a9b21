"""Time and memory against length: RNN, diagonal state-space model, transformer, with slopes."""

import argparse

import torch
from kv_cache import solution

from course_utils.language_model.costs import Cost, generation_costs, slopes, training_costs


def table(title: str, costs: list[Cost], unit: str, size: float) -> None:
    lengths = sorted({cost.length for cost in costs})
    print(f"\n{title}: milliseconds / {unit}")
    print(f"{'length':>20}", *(f"{length:>16}" for length in lengths), f"{'slopes':>12}")
    for kind, (fast, kept) in slopes(costs).items():
        own = {cost.length: cost for cost in costs if cost.kind == kind}
        cells = (f"{1e3 * own[n].seconds:8.2f} /{own[n].kept / size:6.1f}" for n in lengths)
        print(f"{kind:>20}", *(f"{cell:>16}" for cell in cells), f"{fast:6.2f} {kept:5.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--longest", type=int, default=2048)
    arguments = parser.parse_args()
    lengths = [n for n in (128, 256, 512, 1024, 2048, 4096, 8192) if n <= arguments.longest]
    if len(lengths) < 3:
        raise SystemExit("Slopes need three lengths: give --longest 512 or more.")
    print(f"{torch.get_num_threads()} threads, one layer of size 64, batch of 1")
    table("One training step", training_costs(lengths), "megabytes kept", 1e6)
    table("One more position", generation_costs(lengths, solution()), "thousand numbers kept", 1e3)


if __name__ == "__main__":
    main()
