"""Accuracy against steps for GRUs of several sizes: more steps do what a larger D does (02).

    OMP_NUM_THREADS=1 python benchmarks/steps_curve.py
    OMP_NUM_THREADS=1 python benchmarks/steps_curve.py --seeds 0 --hidden 32 --steps 10000

The task is the notebook's: change the case of six characters, without attention. "decay" trains from
scratch for each number of steps, with a learning rate that falls to zero; "constant" is one long
run, measured on the way. Each measurement is a line of course_utils/measured/steps.csv. The attempt
to refute "D = 32 has no room for six characters" is the last column of that table.
"""

from __future__ import annotations

import argparse
import itertools
from statistics import mean

import torch

from course_utils.data.string_tasks import change_case, epoch_of
from course_utils.measured.tables import read_table, write_table
from course_utils.recurrent.bottleneck import (
    BATCH_SIZE,
    STEPS_PER_EPOCH,
    StepsPoint,
    accuracy,
    train,
)
from course_utils.recurrent.bottleneck import STEPS as RESULTS
from course_utils.recurrent.seq2seq import Seq2Seq, sequence_loss
from course_utils.training.devices import seed_everything
from course_utils.training.loop import fit

COMMAND = "OMP_NUM_THREADS=1 python benchmarks/steps_curve.py"
LENGTH = 6
HIDDEN = (16, 32, 64, 128)
STEPS = (500, 1000, 2000, 4000, 10_000)


def with_decay(hidden: int, seed: int, steps: int) -> list[StepsPoint]:
    """One run of exactly this length."""
    task = change_case()
    slots = {"cell": "gru", "hidden": hidden}
    model, _ = train(task, lengths=[LENGTH], steps=steps, seed=seed, decay=True, **slots)
    share = accuracy(model, task, LENGTH)["characters"]
    return [StepsPoint("decay", hidden, seed, steps, round(share, 4))]


def constant(hidden: int, seed: int, steps: int) -> list[StepsPoint]:
    """One run with a constant learning rate, measured at each number of steps on its way."""
    task = change_case()
    seed_everything(seed)
    model = Seq2Seq(len(task.tokens), cell="gru", hidden=hidden)
    batches = epoch_of(task, batches=STEPS_PER_EPOCH, size=BATCH_SIZE, lengths=[LENGTH], seed=seed)
    found, history = [], None
    for after in (n for n in STEPS if n <= steps):
        epochs = after // STEPS_PER_EPOCH
        how = {"lr": 3e-3, "seed": seed, "device": "cpu", "show": False}
        history = fit(model, batches, sequence_loss, epochs=epochs, resume=history, **how)
        share = accuracy(model, task, LENGTH)["characters"]
        found.append(StepsPoint("constant", hidden, seed, after, round(share, 4)))
    return found


def report(rows: list[StepsPoint]) -> None:
    for schedule in ("decay", "constant"):
        print(f"{schedule:12}" + "".join(f"{steps:>22} steps" for steps in STEPS))
        for hidden in HIDDEN:
            cells = []
            for steps in STEPS:
                key = (schedule, hidden, steps)
                got = [r.share_right for r in rows if (r.schedule, r.hidden, r.steps) == key]
                text = (
                    f"{mean(got):.0%} ({min(got):.0%} to {max(got):.0%}, {len(got)})" if got else ""
                )
                cells.append(f"{text:>28}")
            print(f"D = {hidden:<8}" + "".join(cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--hidden", type=int, nargs="+", default=HIDDEN)
    parser.add_argument("--steps", type=int, nargs="+", default=STEPS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = read_table(RESULTS, StepsPoint)
    for seed, hidden in itertools.product(options.seeds, options.hidden):
        wanted = [("decay", steps, with_decay) for steps in options.steps]
        wanted.append(("constant", max(options.steps), constant))
        for schedule, steps, measure in wanted:
            key = (schedule, hidden, seed, steps)
            if not any((r.schedule, r.hidden, r.seed, r.steps) == key for r in rows):
                rows += measure(hidden, seed, steps)
                write_table(RESULTS, rows, COMMAND)
                print(rows[-1], flush=True)
    report(rows)


if __name__ == "__main__":
    main()
