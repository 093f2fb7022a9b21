"""How many symbols get through n bits, with one message and with attention (notebook 02).

    OMP_NUM_THREADS=1 python benchmarks/channel_capacity.py
    OMP_NUM_THREADS=1 python benchmarks/channel_capacity.py --refute   # ten times the steps

It writes course_utils/measured/channel.csv, one line per run. Runs that are already in the file are
not repeated. With --refute it trains the points around the cliff ten times as long, and looks
whether any of them crosses the line that information theory draws.
"""

import argparse
import itertools
from statistics import mean

import torch

from course_utils.measured.tables import measure_missing
from course_utils.recurrent.capacity import CHANNEL, ChannelPoint
from course_utils.recurrent.channel import TEST_TEXTS, channel_point

COMMAND = "OMP_NUM_THREADS=1 python benchmarks/channel_capacity.py [--refute]"
BITS, LENGTHS = (4, 8, 16, 32), (2, 4, 6, 8, 12, 16)
ATTENTION_BITS, ATTENTION_LENGTHS = (4, 8), (2, 4, 8, 16)
STEPS = 1000


def settings(seeds: int) -> list[dict]:
    """The whole curve: every size of the channel and every length."""
    chosen = [("one message", *pair) for pair in itertools.product(BITS, LENGTHS)]
    chosen += [
        ("attention", *pair) for pair in itertools.product(ATTENTION_BITS, ATTENTION_LENGTHS)
    ]
    return [_setting(*one, STEPS, seed) for seed in range(seeds) for one in chosen]


def refuting(seeds: int) -> list[dict]:
    """Four, two and one bits per symbol (all that is needed, half and a quarter), much longer.

    The longest texts too, with attention and without.
    """
    points = [
        ("one message", bits, length)
        for bits, length in itertools.product(BITS, LENGTHS)
        if bits / length in (4, 2, 1)
    ]
    longest = max(LENGTHS)
    points += [("attention", 4, longest), ("attention", 8, longest), ("one message", 8, longest)]
    return [_setting(*one, 10 * STEPS, seed) for seed in range(seeds) for one in points]


def _setting(model: str, bits: int, length: int, steps: int, seed: int) -> dict:
    return {"model": model, "bits": bits, "length": length, "steps": steps, "seed": seed}


def report(rows: list[ChannelPoint]) -> None:
    """The mean and the range over the seeds, and how close to the line the closest run came."""
    key = ("model", "steps", "bits", "length")
    for group in sorted({tuple(getattr(r, k) for k in key) for r in rows}):
        same = [r for r in rows if tuple(getattr(r, k) for k in key) == group]
        shares = [r.share_right for r in same]
        model, steps, bits, length = group
        print(
            f"{model:11} {steps:6} steps, {bits:2} bits, {length:2} symbols: "
            f"{mean(shares):6.1%} ({min(shares):.1%} to {max(shares):.1%}, {len(shares)} seeds), "
            f"line {same[0].bound:.1%}, keep the first {same[0].keep_the_first:.1%}"
        )
    # A test of finitely many symbols scatters: four standard errors are allowed.
    crossed = [
        r
        for r in rows
        if r.share_right > r.bound + 4 * (r.bound * (1 - r.bound) / (TEST_TEXTS * r.length)) ** 0.5
    ]
    print(f"{len(crossed)} of {len(rows)} runs are above the line.", *crossed, sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--refute", action="store_true", help="ten times the steps")
    options = parser.parse_args()
    torch.set_num_threads(1)  # ten times as fast as two threads on a busy computer
    chosen = (refuting if options.refute else settings)(options.seeds)
    rows = measure_missing(CHANNEL, ChannelPoint, chosen, channel_point, COMMAND)
    report([r for r in rows if (r.steps > STEPS) == options.refute])


if __name__ == "__main__":
    main()
