"""How much slower a transformer trains with a student's attention: the ratio of step times.

    python benchmarks/own_parts.py [--steps 30]

The student's class is the solution of notebook 05, which computes and returns its weights. The
stand-in wraps PyTorch's fused attention. Sizes and batches are those of notebook 06.
"""

import argparse
import itertools
import statistics
import time
from collections.abc import Callable

import torch

from autograder.solutions import setup_source, solution_source
from course_utils import own
from course_utils.data import encode, load_corpus, padded_batches
from course_utils.training import seed_everything
from course_utils.transformer import RECIPES, make_transformer
from course_utils.transformer.training import smoothed_loss

LAYERS = ("encoder-layer", "decoder-layer", "transformer")


def transformer_class() -> type:
    names: dict = {"__name__": "__main__"}
    for source in (setup_source("06_transformer"), *map(solution_source, LAYERS)):
        exec(source, names)
    return names["Transformer"]


def brought() -> None:
    """Use the solutions of notebook 05, as a student may."""
    names: dict = {"__name__": "__main__"}
    exec(setup_source("05_self_attention"), names)
    for name in ("MultiHeadAttention", "causal_mask", "positional_encoding"):
        exec(solution_source(own.PARTS[name].exercise), names)
        own.use(name, names[name])


def training(budget: str) -> Callable[[], float]:
    """A model in training: each call makes one step (forward, backward, Adam) and times it."""
    seed_everything(0)
    data, recipe = encode(load_corpus("de", builtin_only=True)), RECIPES[budget]
    model = make_transformer(transformer_class(), data, recipe.sizes)
    batches = itertools.cycle(padded_batches(data.train, recipe.batch_size, seed=0))
    optimiser, loss_of = torch.optim.Adam(model.parameters()), smoothed_loss(recipe.smoothing)

    def step() -> float:
        started = time.process_time()
        loss, _ = loss_of(model, next(batches))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        return time.process_time() - started

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--budget", default="quick", choices=RECIPES)
    options = parser.parse_args()
    ours = training(options.budget)
    brought()
    theirs = training(options.budget)
    # in turn, so that other work on the machine slows both
    times = [(ours(), theirs()) for _ in range(options.steps)]
    one, other = (statistics.median(column) for column in zip(*times, strict=True))
    print(
        f"{options.budget}: a step takes {1000 * one:.0f} ms of CPU time with PyTorch's attention "
        f"and {1000 * other:.0f} ms with a student's: {other / one:.2f} times"
    )


if __name__ == "__main__":
    main()
