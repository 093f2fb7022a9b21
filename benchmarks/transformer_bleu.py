"""Train the transformer of notebook 06 on Multi30k, and write its BLEU into a table.

    COURSE_DATA=folder python benchmarks/transformer_bleu.py                  # quick, seed 0
    COURSE_DATA=folder python benchmarks/transformer_bleu.py --budget full
    python benchmarks/transformer_bleu.py --builtin --budget smoke            # seconds, no data

A run that was cut off goes on from its last epoch; a run that is in the table already is not
repeated. Lines go to course_utils/data/transformer_results.csv, trained weights stay outside the
repository.
"""

import argparse
import os
import time
from pathlib import Path

import torch

from autograder.solutions import solution
from course_utils.data import builtin_corpus, encode, load_corpus
from course_utils.training import seed_everything
from course_utils.transformer_training import (
    RECIPES,
    TRANSFORMER_RESULTS,
    make_translator,
    train_translator,
    translate,
)
from course_utils.translation_report import Result, add_result, bleu, read_results

NAME = "transformer"


def models_folder() -> Path:
    """Where trained weights are kept between runs, outside the repository."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "attention-course" / "models"


def measure(budget: str, seed: int, data, corpus_name: str) -> Result:
    """Train one model (or go on with it) and score it on the test set."""
    recipe = RECIPES[budget]
    seed_everything(seed)
    model = make_translator(solution("transformer"), data, recipe)
    count = sum(p.numel() for p in model.parameters())
    print(f"{corpus_name}, {budget}: {count:,} parameters, {recipe}", flush=True)
    path = models_folder() / f"transformer-{corpus_name}-{budget}-{seed}.pt"
    path.parent.mkdir(parents=True, exist_ok=True)
    cpu = time.process_time()
    history = train_translator(model, data, recipe, seed=seed, checkpoint=path, show=False)
    cpu_minutes = (time.process_time() - cpu) / 60
    print(history, flush=True)
    start = time.perf_counter()
    words = translate(
        model, data, [example.source for example in data.test], solution("greedy-decode")
    )
    score = bleu(words, data)
    print(score)
    print(f"greedy decoding of {len(words)} sentences: {time.perf_counter() - start:.1f} s")
    for place in (0, 100, 200):
        if place < len(words):
            print("  ", data.corpus.test.source[place], "->", " ".join(words[place]))
    return Result(
        NAME,
        seed,
        budget,
        history.seconds / 60,
        cpu_minutes,
        history.best_loss,
        score.tokens,
        score.plain,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", choices=list(RECIPES), default="quick")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--builtin", action="store_true", help="the built-in corpus; no table")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    done = [(r.budget, r.seed) for r in read_results(TRANSFORMER_RESULTS)]
    if not options.builtin and (options.budget, options.seed) in done:
        print(
            f"The table {TRANSFORMER_RESULTS.name} has this run already; delete its line to repeat it."
        )
        return
    corpus = builtin_corpus() if options.builtin else load_corpus("de")
    if not options.builtin and corpus.name.startswith("Built-in"):
        raise SystemExit("Multi30k is not here: set COURSE_DATA, or use --builtin.")
    name = "builtin" if options.builtin else "multi30k"
    result = measure(options.budget, options.seed, encode(corpus), name)
    if not options.builtin:
        add_result(result, TRANSFORMER_RESULTS)
        print(f"written to {TRANSFORMER_RESULTS}")


if __name__ == "__main__":
    main()
