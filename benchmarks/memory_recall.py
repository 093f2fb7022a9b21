"""What matrix memories and attention recall of N pairs, without training (notebook 07).

    OMP_NUM_THREADS=1 python benchmarks/memory_recall.py

It writes course_utils/measured/memory.csv. There is nothing to train, so nothing can be trained
longer: the attempt to refute the line 1 - d/N is the best linear memory itself, found by least
squares, on other sizes (--refute).
"""

import argparse
import itertools

import torch

from course_utils.language_model.memory import MEMORIES, MEMORY, MemoryPoint, memory_point
from course_utils.measured.tables import measure_missing

COMMAND = "OMP_NUM_THREADS=1 python benchmarks/memory_recall.py [--refute]"
PAIRS = (4, 8, 16, 24, 32, 48, 64, 96, 128)
OTHER_SIZES = (8, 16, 64)


def settings(refute: bool) -> list[dict]:
    if refute:
        chosen = [
            ("least squares", size, share * size // 2)
            for size, share in itertools.product(OTHER_SIZES, (1, 2, 3, 4, 8))
        ]
    else:
        chosen = [(memory, 32, pairs) for memory, pairs in itertools.product(MEMORIES, PAIRS)]
    return [
        {"memory": memory, "size": size, "pairs": pairs, "seed": seed}
        for seed in range(3)
        for memory, size, pairs in chosen
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--refute", action="store_true", help="least squares, other sizes")
    options = parser.parse_args()
    torch.set_num_threads(1)
    chosen = settings(options.refute)
    rows = measure_missing(MEMORY, MemoryPoint, chosen, memory_point, COMMAND)
    rows = [r for r in rows if (r.size != 32) == options.refute]
    below = min(
        (r.squared_error - r.linear_bound for r in rows if r.memory not in ("attention",)),
        default=0.0,
    )
    for row in rows:
        if row.seed == 0:
            print(
                f"d = {row.size:2}, {row.pairs:3} pairs, {row.memory:22} error "
                f"{row.squared_error:6.3f} (line {row.linear_bound:.3f}), "
                f"recall {row.recall:6.1%} (values only {row.commonest_stored_value:.1%})"
            )
    print(f"The lowest error of a linear memory minus the line 1 - d/N: {below:+.4f}")


if __name__ == "__main__":
    main()
