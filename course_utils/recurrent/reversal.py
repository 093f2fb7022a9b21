"""String reversal with an LSTM: the settings of notebook 03, fixed once, and one training run."""

import csv
from dataclasses import dataclass
from statistics import mean, stdev

import torch

from course_utils.data.string_tasks import epoch_of, reverse
from course_utils.measured import FOLDER
from course_utils.measured.tables import read_table
from course_utils.recurrent.seq2seq import Seq2Seq, evaluate, sequence_loss
from course_utils.training.devices import seed_everything
from course_utils.training.history import History
from course_utils.training.loop import fit

# Chosen with the model without attention alone (benchmarks/reversal.py --choose): of the learning
# rates tried, the one where it does best. The model with attention then takes them as they are.
LENGTHS = range(10, 21)
HIDDEN, EMBED = 64, 32
LEARNING_RATE = 1e-2
BATCH, BATCHES = 64, 50
EPOCHS = {"smoke": 1, "quick": 30, "full": 30}

TASK = reverse()
SCORES = FOLDER / "scores.csv"  # written by benchmarks/score_comparison.py


def make_model(attention=None, gives: str = "hidden", seed: int = 0) -> Seq2Seq:
    """The sequence-to-sequence model of the notebook, with your attention or without any."""
    seed_everything(seed)
    return Seq2Seq(
        len(TASK.tokens),
        hidden=HIDDEN,
        embed=EMBED,
        cell="lstm",
        attention=attention() if attention is not None else None,
        attention_gives=gives,
    )


def validation(lengths=LENGTHS, each: int = 100):
    """Strings that no training run sees, the same for all of them."""
    return [TASK.draw(each, length, seed=-1) for length in lengths]


def train(
    model: Seq2Seq,
    *,
    budget: str = "quick",
    epochs: int | None = None,
    seed: int = 0,
    lr: float = LEARNING_RATE,
    show: bool = True,
) -> History:
    """Train on new random strings in every epoch; the learning rate falls in a straight line."""
    epochs = EPOCHS[budget] if epochs is None else epochs
    batches = BATCHES if budget != "smoke" else 10
    checked = validation(each=100 if budget != "smoke" else 20)
    return fit(
        model,
        epoch_of(TASK, batches=batches, size=BATCH, lengths=LENGTHS, seed=seed),
        sequence_loss,
        epochs=epochs,
        lr=lr,
        schedule=lambda step: max(0.02, 1 - step / (epochs * batches)),
        validate=lambda m: evaluate(m, checked),
        seed=seed,
        show=show,
    )


def accuracy(model: Seq2Seq, lengths=LENGTHS, each: int = 100) -> dict[str, float]:
    """The share of characters and of whole strings that come out right."""
    with torch.no_grad():
        figures = evaluate(model, validation(lengths, each))
    return {"characters": figures["characters"], "strings": figures["exact"]}


def measured() -> dict[str, dict[str, str]]:
    """What benchmarks/reversal.py measured: mean and spread over its seeds, by attention."""
    with (FOLDER / "reversal_results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    table = {}
    for name in dict.fromkeys(row["attention"] for row in rows):
        mine = [row for row in rows if row["attention"] == name]
        table[name] = {
            measure: _mean_and_spread([float(row[measure]) for row in mine])
            for measure in ("characters", "strings")
        }
    return table


@dataclass(frozen=True)
class ScorePoint:
    """One run with one score: the share of letters and of whole strings that come out right."""

    score: str
    seed: int
    epochs: int
    characters: float
    strings: float
    seconds: float


def scores() -> list[ScorePoint]:
    """What benchmarks/score_comparison.py measured: scores that differ in nothing else."""
    return read_table(SCORES, ScorePoint)


def _mean_and_spread(shares: list[float]) -> str:
    return f"{mean(shares):.2%} ± {stdev(shares):.2%} ({len(shares)} seeds)"
