"""How much faster generation is with a key-value cache: both ways in one run, on the same tokens.

The model and its cached attention are the solutions of notebook 07.
"""

import argparse
import statistics

import torch

from autograder.solutions import solution
from course_utils.language_model.byte_training import start_small
from course_utils.language_model.writing import write

GOAL = 5.0
PROMPT = 64


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=256)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    attention = solution("cached-self-attention")
    torch.manual_seed(0)
    model = solution("decoder-only-model")(1000, 256, 8, 4, 1024, arguments.words + PROMPT)
    start_small(model)
    start = torch.randint(1000, (1, PROMPT))
    write(model, start, 8, attention=attention)
    ratios = []
    print(f"{arguments.words} tokens after {PROMPT}, {torch.get_num_threads()} threads")
    for run in range(arguments.runs):
        without = write(model, start, arguments.words)
        cached = write(model, start, arguments.words, attention=attention)
        if without.words != cached.words:
            raise SystemExit("The two ways wrote different tokens: the cache is wrong.")
        ratios.append(sum(without.seconds) / sum(cached.seconds))
        print(
            f"run {run + 1}: without cache {sum(without.seconds):6.2f} s, "
            f"with cache {sum(cached.seconds):6.2f} s, {ratios[-1]:5.1f} times faster"
        )
    ratio = statistics.median(ratios)
    verdict = "reached" if ratio >= GOAL else "NOT reached"
    print(f"median {ratio:.1f} times faster; the goal of {GOAL:g} is {verdict}")
    raise SystemExit(0 if ratio >= GOAL else 1)


if __name__ == "__main__":
    main()
