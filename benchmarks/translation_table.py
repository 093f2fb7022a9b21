"""Measure the translators on Multi30k and write the table that the notebook shows.

    python benchmarks/translation_table.py                  # what the quick budget still lacks
    python benchmarks/translation_table.py --budget full --seeds 0 --mechanisms scaled
    python benchmarks/translation_table.py --minutes 8      # stop after that; call it again to go on

Every finished run is a line in course_utils/measured/translation_results.csv. A run that was
interrupted continues from its last epoch; runs that are already in the table are not repeated.
"""

import argparse
import os
import time
from pathlib import Path

import torch

from autograder.reference.translation import SingleQueryScaledDotProductAttention
from course_utils.data import encode, load_corpus
from course_utils.training.devices import seed_everything
from course_utils.translation.decoding import translate
from course_utils.translation.model import Dummy, MeanPool
from course_utils.translation.results import (
    LENGTH_RESULTS,
    RESULTS,
    Result,
    add_result,
    comparison_text,
    length_text,
    read_results,
    summarise,
)
from course_utils.translation.scores import bleu, bleu_by_length
from course_utils.translation.training import RECIPES, make_translator, train_translator

MECHANISMS = {
    "scaled": (
        "scaled dot-product",
        lambda enc, dec: SingleQueryScaledDotProductAttention(enc, dec, 256),
    ),
    "dummy": ("Dummy", lambda enc, dec: Dummy()),
    "mean": ("MeanPool", lambda enc, dec: MeanPool()),
}


def models_folder() -> Path:
    """Where trained weights are kept between runs, outside the repository."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "attention-course" / "models"


def model_path(mechanism: str, budget: str, seed: int, source: str = "de") -> Path:
    return models_folder() / f"translation-{source}-{mechanism}-{budget}-{seed}.pt"


def measure(key: str, budget: str, seed: int, data, seconds: float | None) -> Result | None:
    """Train one model and score it on the test set; None if time ran out before the end."""
    name, make = MECHANISMS[key]
    recipe = RECIPES[budget]
    seed_everything(seed)
    attention = make(recipe.sizes.encoder, recipe.sizes.decoder)
    model = make_translator(data, attention, recipe.sizes)
    path = model_path(key, budget, seed, data.corpus.languages[0])
    checkpoint, used = path.with_suffix(".run.pt"), path.with_suffix(".cpu.txt")
    before = float(used.read_text()) if checkpoint.exists() and used.exists() else 0.0
    cpu = time.process_time()
    history = train_translator(
        model, data, recipe, seed=seed, checkpoint=checkpoint, pause_after=seconds, show=False
    )
    cpu = before + time.process_time() - cpu
    if len(history.records) < recipe.epochs:
        used.write_text(str(cpu))
        print(f"paused after epoch {len(history.records)} of {recipe.epochs}; run it again")
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), path)
    for record in history.records:
        print("   ", {key: round(value, 3) for key, value in record.items()})
    words = [one.words for one in translate(model, data)]
    score = bleu(words, data)
    print(score)
    lengths = bleu_by_length(words, data, name, budget, seed)
    print(length_text(lengths))
    if (key, seed) == ("scaled", 0):  # the one that notebook 06 shows beside its own
        for result in lengths:
            add_result(result, LENGTH_RESULTS)
    for leftover in (checkpoint, used):
        leftover.unlink(missing_ok=True)
    return Result.of(name, seed, budget, history, score, cpu / 60)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--budget", default="quick", choices=["quick", "full"])
    options.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options.add_argument("--mechanisms", nargs="+", default=list(MECHANISMS), choices=MECHANISMS)
    options.add_argument(
        "--minutes", type=float, default=None, help="start no epoch after this time"
    )
    options.add_argument("--output", type=Path, default=RESULTS)
    chosen = options.parse_args()
    done = {(r.mechanism, r.seed, r.budget) for r in read_results(chosen.output)}
    left = [
        (key, seed)
        for seed in chosen.seeds
        for key in chosen.mechanisms
        if (MECHANISMS[key][0], seed, chosen.budget) not in done
    ]
    data = encode(load_corpus("de")) if left else None
    if data and data.corpus.name != "Multi30k":
        raise SystemExit("The table is for Multi30k, which is not here: set COURSE_DATA.")
    started = time.perf_counter()
    for count, (key, seed) in enumerate(left):
        print(f"{MECHANISMS[key][0]}, seed {seed}, {chosen.budget}; load {os.getloadavg()[0]:.1f}")
        seconds = None
        if chosen.minutes is not None:
            seconds = 60 * chosen.minutes - (time.perf_counter() - started)
        result = measure(key, chosen.budget, seed, data, seconds)
        if result is None:
            print(f"{len(left) - count} runs are left.")
            break
        add_result(result, chosen.output)
        print(result, flush=True)
    rows = [r for r in read_results(chosen.output) if r.budget == chosen.budget]
    print(comparison_text(summarise(rows)))


if __name__ == "__main__":
    main()
