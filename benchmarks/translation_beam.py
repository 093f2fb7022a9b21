"""BLEU of a trained translator for beams of 1, 5, 10, 20 and 50, ranked by the mean per word.

    python benchmarks/translation_beam.py                   # of the quick model with seed 0
    python benchmarks/translation_beam.py --budget full
    python benchmarks/translation_beam.py --penalties 0     # the plain sum decides

It needs a model that benchmarks/translation_table.py has trained on this computer, and writes
course_utils/measured/beam_results.csv. Rows that are already there are not measured again.
"""

import argparse
import time

import torch
from translation_table import model_path

from autograder.reference.translation import (
    SingleQueryScaledDotProductAttention,
    beam_translate,
)
from course_utils.data import encode, load_corpus
from course_utils.translation.results import BEAM_RESULTS, BeamResult, add_result, read_results
from course_utils.translation.scores import bleu
from course_utils.translation.training import RECIPES, make_translator


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--budget", default="quick", choices=["quick", "full"])
    options.add_argument("--beams", type=int, nargs="+", default=[1, 5, 10, 20, 50])
    options.add_argument("--penalties", type=float, nargs="+", default=[1.0])
    chosen = options.parse_args()
    known = read_results(BEAM_RESULTS, BeamResult)
    done = {(r.budget, r.beam, r.length_penalty) for r in known}
    left = [
        (penalty, beam)
        for penalty in chosen.penalties
        for beam in chosen.beams
        if (chosen.budget, beam, penalty) not in done
    ]
    print(*(row for row in known if row.budget == chosen.budget), sep="\n")
    if left:
        measure(chosen.budget, left)


def measure(budget: str, left: list[tuple[float, int]]) -> None:
    path = model_path("scaled", budget, 0)
    if not path.exists():
        raise SystemExit(f"{path} is not here: run benchmarks/translation_table.py first.")
    data = encode(load_corpus("de"))
    sizes = RECIPES[budget].sizes
    attention = SingleQueryScaledDotProductAttention(sizes.encoder, sizes.decoder, 256)
    model = make_translator(data, attention, sizes)
    model.load_state_dict(torch.load(path, weights_only=True))
    sources = [example.source for example in data.test]
    for penalty, beam in left:
        started = time.perf_counter()
        found = beam_translate(model, data, sources, beam, penalty)
        seconds = time.perf_counter() - started
        score = bleu(found, data)
        result = BeamResult(
            budget,
            beam,
            penalty,
            round(score.tokens, 2),
            round(score.plain, 2),
            round(seconds, 1),
        )
        add_result(result, BEAM_RESULTS)
        print(result, flush=True)


if __name__ == "__main__":
    main()
