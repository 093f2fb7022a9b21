"""Train the transformer of notebook 06 on Multi30k, and write its BLEU into a table.

    COURSE_DATA=folder python benchmarks/transformer_bleu.py                  # quick, seed 0
    COURSE_DATA=folder python benchmarks/transformer_bleu.py --budget full --seeds 0 1 2
    python benchmarks/transformer_bleu.py --builtin --budget smoke            # seconds, no data

A run that was interrupted, even by Ctrl-C or SIGTERM, continues from its last epoch, and the CPU
time that it used before is counted. A run that is already in the table is not repeated. In the full
budget, BLEU with a beam is measured too. Lines go to course_utils/measured/transformer_results.csv;
trained weights stay outside the repository.
"""

import argparse
import dataclasses
import signal
import time
from pathlib import Path

import torch
from translation_table import models_folder

from autograder.solutions import solution
from course_utils.data import builtin_corpus, encode, load_corpus
from course_utils.data.tokens import END, START
from course_utils.training.devices import seed_everything
from course_utils.training.history import History
from course_utils.transformer.training import (
    LONGEST,
    RECIPES,
    make_transformer,
    next_word,
    train_transformer,
    written_by,
)
from course_utils.translation.decoding import translate
from course_utils.translation.model import length_limit
from course_utils.translation.results import (
    LENGTH_RESULTS,
    TRANSFORMER_RESULTS,
    Result,
    add_result,
    length_text,
    read_results,
)
from course_utils.translation.scores import bleu, bleu_by_length

NAME = "transformer"
BEAM = 5


def beam_translate(model, data) -> list[list[str]]:
    """Translate the test set with the beam search of notebook 04, one sentence at a time."""
    search, found = solution("beam-search"), []
    for example in data.test:
        source = torch.tensor([example.source[:LONGEST]])
        limit = min(LONGEST, length_limit(source.shape[1]))
        tokens, _ = search(next_word(model, source), START, END, BEAM, limit, 1.0)
        found.append(data.target_vocabulary.decode(tokens))
    return found


def train(model, data, recipe, seed: int, path: Path) -> tuple[History, float]:
    """Train, or resume an interrupted run; also returns the CPU minutes of all its parts."""
    used = path.with_suffix(".cpu.txt")
    before = float(used.read_text()) if path.exists() and used.exists() else 0.0
    cpu = time.process_time()
    history = train_transformer(model, data, recipe, seed=seed, checkpoint=path, show=False)
    minutes = before + (time.process_time() - cpu) / 60
    used.write_text(str(minutes))
    if history.stopped == "interrupted":
        done = f"{len(history.records)} of {recipe.epochs} epochs"
        raise SystemExit(f"Interrupted after {done} and {minutes:.1f} CPU minutes; run it again.")
    return history, minutes


def measure(budget: str, seed: int, data, corpus_name: str) -> tuple[list[Result], list]:
    """Train one model (or resume it) and score it on the test set."""
    recipe = RECIPES[budget]
    seed_everything(seed)
    model = make_transformer(solution("transformer"), data, recipe.sizes)
    count = sum(p.numel() for p in model.parameters())
    print(f"{corpus_name}, {budget}: {count:,} parameters, {recipe}", flush=True)
    path = models_folder() / f"transformer-{corpus_name}-{budget}-{seed}.pt"
    path.parent.mkdir(parents=True, exist_ok=True)
    history, cpu_minutes = train(model, data, recipe, seed, path)
    for record in history.records:
        print("   ", {key: round(value, 3) for key, value in record.items()})
    print(history, flush=True)
    start = time.perf_counter()
    sources = [example.source for example in data.test]
    decode = written_by(solution("greedy-decode"))
    words = [one.words for one in translate(model, data, sources, decode)]
    score = bleu(words, data)
    print(score)
    print(f"greedy decoding of {len(words)} sentences: {time.perf_counter() - start:.1f} s")
    for place in (0, 100, 200):
        if place < len(words):
            print("  ", data.corpus.test.source[place], "->", " ".join(words[place]))
    greedy = Result.of(NAME, seed, budget, history, score, cpu_minutes)
    results = [greedy]
    if budget == "full":
        score = bleu(beam_translate(model, data), data)
        print(f"with a beam of {BEAM}, the mean log-probability per word decides:\n{score}")
        results.append(
            dataclasses.replace(
                greedy,
                mechanism=f"{NAME}, beam of {BEAM}",
                bleu_tokens=round(score.tokens, 2),
                bleu_plain=round(score.plain, 2),
            )
        )
    return results, bleu_by_length(words, data, NAME, budget, seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", choices=RECIPES, default="quick")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--builtin", action="store_true", help="the built-in corpus; no table")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)  # one thread takes longer than two, but less CPU time
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    known = [] if options.builtin else read_results(TRANSFORMER_RESULTS)
    done = {(result.budget, result.seed) for result in known}
    left = [seed for seed in options.seeds if (options.budget, seed) not in done]
    print(*(result for result in known if result.budget == options.budget), sep="\n")
    if not left:
        return
    corpus = builtin_corpus() if options.builtin else load_corpus("de")
    if not options.builtin and corpus.name.startswith("Built-in"):
        raise SystemExit("Multi30k is not here: set COURSE_DATA, or use --builtin.")
    name = "builtin" if options.builtin else "multi30k"
    for seed in left:
        results, lengths = measure(options.budget, seed, encode(corpus), name)
        print(length_text(lengths))
        if options.builtin:
            continue
        for result in results:
            add_result(result, TRANSFORMER_RESULTS)
        if seed == 0:  # the one that notebook 06 shows
            for result in lengths:
                add_result(result, LENGTH_RESULTS)
        print(f"written to {TRANSFORMER_RESULTS.name}", flush=True)


if __name__ == "__main__":
    main()
