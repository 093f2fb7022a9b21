"""Recall of 2 to 16 pairs, trained until nothing improves: RNN, SSMs, attention (notebook 07).

    OMP_NUM_THREADS=1 python benchmarks/trained_recall.py
    OMP_NUM_THREADS=1 python benchmarks/trained_recall.py --refute    # ten times the steps

It writes course_utils/measured/trained_recall.csv: for each run the share right for each number
of pairs, after each quarter of the training, next to the score of an answer that knows the
stored values but not their keys. Two figures that hardly differ are a plateau.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from course_utils.language_model.cache import InPlace
from course_utils.language_model.memory import commonest_stored_value, random_stored_value
from course_utils.language_model.recall import Recall, SequenceModel, recall_accuracy
from course_utils.language_model.selective import SelectiveSSM
from course_utils.measured import FOLDER
from course_utils.measured.tables import read_table, write_table
from course_utils.training.devices import adam, seed_everything

COMMAND = "OMP_NUM_THREADS=1 python benchmarks/trained_recall.py [--refute]"
RESULTS = FOLDER / "trained_recall.csv"
KINDS = ("RNN", "SSM", "selective SSM", "transformer")
PAIRS = (2, 4, 8, 16, 32)  # 32 is more than any model was trained on
MOST_PAIRS, BATCH, STEPS = 16, 32, 3000


@dataclass(frozen=True)
class RecallPoint:
    """The accuracy of one run, at one point of its training, for one number of pairs."""

    model: str
    seed: int
    steps: int
    after: int
    pairs: int
    numbers_kept: int
    recall: float
    random_stored_value: float
    commonest_stored_value: float


def make_model(kind: str, task: Recall) -> SequenceModel:
    if kind != "selective SSM":
        return SequenceModel(kind, task)
    model = SequenceModel("RNN", task)
    for layer in model.layers:
        layer.self_attn = InPlace(SelectiveSSM(model.output.in_features))
    return model


def numbers_kept(kind: str, model: SequenceModel, pairs: int) -> int:
    """How many numbers the model carries along after the pairs."""
    if kind != "selective SSM":
        return model.numbers_kept(pairs)
    mixers = [layer.self_attn.attend for layer in model.layers]
    return sum(m.value.out_features * m.key.out_features for m in mixers)


def pairs_at(step: int, steps: int, draw: torch.Generator) -> int:
    """From two pairs up to a limit, which grows in the first half of the training."""
    limit = 2 + round((MOST_PAIRS - 2) * min(1.0, 2 * step / steps))
    return int(torch.randint(2, limit + 1, (1,), generator=draw))


def train(model: nn.Module, task: Recall, steps: int, seed: int):
    """Train, and pause after each quarter of the steps."""
    draw = torch.Generator().manual_seed(seed)
    optimiser = adam(model.parameters(), lr=2e-3)
    for step in range(1, steps + 1):
        optimiser.param_groups[0]["lr"] = 2e-3 * min(step / 100, 1.02 - step / steps)
        model.train()
        pairs = pairs_at(step, steps, draw)
        keys, values, answers = task.batch(pairs, BATCH, seed=100_000_000 * (seed + 1) + step)
        loss = F.cross_entropy(model(keys, values).flatten(0, 1), answers.flatten())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % (steps // 4) == 0:
            yield step


def run(kind: str, seed: int, steps: int) -> list[RecallPoint]:
    task = Recall()
    seed_everything(seed)
    model = make_model(kind, task)
    found = []
    for after in train(model, task, steps, seed):
        for pairs in PAIRS:
            found.append(
                RecallPoint(
                    kind,
                    seed,
                    steps,
                    after,
                    pairs,
                    numbers_kept(kind, model, pairs),
                    round(recall_accuracy(model, task, pairs), 4),
                    round(random_stored_value(pairs, task.num_values), 4),
                    round(commonest_stored_value(pairs, task.num_values), 4),
                )
            )
        print(kind, seed, after, [p.recall for p in found[-len(PAIRS) :]], flush=True)
    return found


def report(rows: list[RecallPoint]) -> None:
    """The range over the seeds halfway and at the end of each training, and the two lines."""
    print(f"{'':28}" + "".join(f"{pairs:>10} pairs" for pairs in PAIRS))
    runs = dict.fromkeys((r.steps, r.model, r.after) for r in rows)
    for steps, kind, after in sorted(runs, key=lambda run: (run[0], KINDS.index(run[1]), run[2])):
        if 2 * after % steps:
            continue
        cells = []
        for pairs in PAIRS:
            key = (steps, kind, after, pairs)
            got = [r.recall for r in rows if (r.steps, r.model, r.after, r.pairs) == key]
            cells.append(f"{f'{min(got):.0%} to {max(got):.0%}':>16}")
        print(f"{kind:14}{after:6} of {steps:<6}" + "".join(cells))
    for name, line in (("random", random_stored_value), ("commonest", commonest_stored_value)):
        print(f"{name + ' stored value':28}" + "".join(f"{line(n):>16.0%}" for n in PAIRS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--refute", action="store_true", help="ten times the steps")
    options = parser.parse_args()
    torch.set_num_threads(1)
    steps = (10 if options.refute else 1) * STEPS
    rows = read_table(RESULTS, RecallPoint)
    for seed in range(options.seeds):
        for kind in options.kinds:
            if not any((r.model, r.seed, r.steps) == (kind, seed, steps) for r in rows):
                rows += run(kind, seed, steps)
                write_table(RESULTS, rows, COMMAND)
    report(rows)


if __name__ == "__main__":
    main()
