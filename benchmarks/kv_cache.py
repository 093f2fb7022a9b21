"""How much faster is writing with a key-value cache? Both ways in one run, on the same words.

The cached attention is the solution of notebook 07, read from its source file.
"""

import argparse
import statistics
from pathlib import Path

import jupytext
import torch

from course_utils.language_model.model import LanguageModel
from course_utils.language_model.writing import write
from course_utils.transformer.sizes import Sizes

SOURCE = Path(__file__).parents[1] / "autograder" / "source" / "07_decoder_only.py"
GOAL = 5.0
PROMPT = 64


def solution() -> type[torch.nn.Module]:
    """CachedSelfAttention as it stands in the notebook's source."""
    for cell in jupytext.read(SOURCE).cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "cached-self-attention":
            namespace = {"torch": torch, "nn": torch.nn}
            exec(compile(cell.source, str(SOURCE), "exec"), namespace)
            return namespace["CachedSelfAttention"]
    raise SystemExit(f"{SOURCE} has no cell called cached-self-attention.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=256)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    attention = solution()
    torch.manual_seed(0)
    sizes = Sizes(256, 8, 4, 1024, max_length=arguments.words + PROMPT)
    model = LanguageModel(1000, 1000, sizes).eval()
    start = torch.randint(1000, (1, PROMPT))
    write(model, start, 8, attention=attention)
    ratios = []
    print(f"{arguments.words} words after {PROMPT}, {sizes}, {torch.get_num_threads()} threads")
    for run in range(arguments.runs):
        without = write(model, start, arguments.words)
        cached = write(model, start, arguments.words, attention=attention)
        if without.words != cached.words:
            raise SystemExit("The two ways wrote different words: the cache is wrong.")
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
