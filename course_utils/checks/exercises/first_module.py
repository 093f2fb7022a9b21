"""Scorer: a first nn.Module, one score per vector, readout(tanh(hidden(x)))."""

import numpy as np

from course_utils.checks.judge import Check, Evidence, Misconception, Property, same
from course_utils.checks.layer_checks import (
    changes_its_input,
    cut_off,
    fits_everywhere,
    returned,
    slopes_match,
    stays_and_repeats,
)
from course_utils.checks.wire import Ask

SIZES = {  # label: B, S, d_model, size
    "main": (3, 4, 5, 2),
    "long": (2, 7, 3, 6),
    "one": (1, 1, 4, 3),
}
MATCH = "a score is readout(tanh(hidden(x)))"


def parameters(rng: np.random.Generator, d_model: int, size: int) -> dict[str, np.ndarray]:
    return {
        "hidden.weight": rng.standard_normal((size, d_model)),
        "hidden.bias": rng.standard_normal(size),
        "readout.weight": rng.standard_normal((1, size)),
        "readout.bias": rng.standard_normal(1),
    }


def asks(rng: np.random.Generator) -> list[Ask]:
    questions = []
    for label, (B, S, d_model, size) in SIZES.items():
        x = rng.standard_normal((B, S, d_model))
        options = {
            "target": "Scorer",
            "init": [d_model, size],
            "args": [x],
            "fill": {"named": parameters(rng, d_model, size)},
        }
        if label == "main":
            options["other"] = [x[:-1, :-1]]
            options["upstream"] = [rng.standard_normal((B, S))]
            options["directions"] = [rng.standard_normal((B, S, d_model))]
        questions.append(Ask(label, "call", options))
    return questions


def scores_match(e: Evidence) -> None:
    for label, (B, S, _, _) in SIZES.items():
        same(
            e.expected(label)["right/0"],
            e.outputs(label, (B, S))[0],
            e.tolerance(label),
            "The scores are not readout(tanh(hidden(x))).",
            "First self.hidden, then torch.tanh, then self.readout. Finally remove the last axis.",
            ("sentence", "position"),
        )


def stays(e: Evidence) -> None:
    B, S, _, _ = SIZES["main"]
    stays_and_repeats(e, "main", [(B, S)], ("x",))
    slopes_match(e, "main", ("x",))


TELL = {
    "axis-kept": (
        "Each score is still wrapped in an axis of its own: the last axis, of size 1, is left over.",
        "Remove it with .squeeze(-1), which turns [B, S, 1] into [B, S].",
    ),
    "no-tanh": (
        "The tanh is missing. Without it, two linear layers in a row can do no more than one.",
        "Apply torch.tanh to what self.hidden gives, before the readout.",
    ),
    "relu": (
        "There is a ReLU between the layers; the equation has a tanh.",
        "Apply torch.tanh to what self.hidden gives.",
    ),
    "sigmoid": (
        "There is a sigmoid between the layers; the equation has a tanh.",
        "Apply torch.tanh to what self.hidden gives.",
    ),
    "tanh-at-the-end": (
        "Your readout goes through a tanh as well, but a score may be any number.",
        "The tanh belongs between the two layers. Nothing comes after the readout.",
    ),
    "softmax": (
        "You return weights, but this exercise asks for scores: there is no softmax yet.",
        "Return the scores themselves.",
    ),
}

exercise = Check(
    id="first-module",
    asks=asks,
    properties=(
        Property(MATCH, 3, scores_match),
        Property("two calls agree, x stays as it was, gradients flow", 1, stays, needs=(MATCH,)),
    ),
    misconceptions=(
        changes_its_input(),
        *(Misconception(name, *words) for name, words in TELL.items()),
        cut_off("main", ("x",)),
    ),
    choices=(
        ("no-tanh", "relu", "sigmoid"),
        ("tanh-at-the-end", "softmax"),
        ("axis-kept",),
    ),
    fits=fits_everywhere(returned),
)
