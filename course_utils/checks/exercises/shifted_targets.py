"""next_token_loss: the logits at t are compared with the token at t + 1."""

import numpy as np

from course_utils.checks.judge import Check, Evidence, Misconception, Property, Wrong, differ, same
from course_utils.checks.layer_checks import (
    changes_its_input,
    cut_off,
    fits_everywhere,
    slopes_match,
    stays_and_repeats,
)
from course_utils.checks.wire import Ask

SIZES = {  # label: B, T, vocab_size
    "main": (3, 5, 7),
    "one text": (1, 6, 4),
    "two tokens": (4, 2, 5),
    "large": (2, 4, 6),
}
MATCH = "the loss compares each position with its next token"


def asks(rng: np.random.Generator) -> list[Ask]:
    questions = []
    for label, (B, T, vocab_size) in SIZES.items():
        scale = 2000.0 if label == "large" else 1.5
        logits = scale * rng.standard_normal((B, T, vocab_size))
        tokens = rng.integers(0, vocab_size, (B, T))
        if label == "large":  # the probabilities that count are too small for any float
            tokens[:, 1:] = logits[:, :-1].argmin(-1)
        options = {"target": "next_token_loss", "args": [logits, tokens]}
        if label == "main":
            options["upstream"] = [np.ones(1)]
            options["directions"] = [rng.standard_normal(logits.shape), None]
        questions.append(Ask(label, "call", options))
    return questions


def loss_matches(e: Evidence) -> None:
    for label in ("main", "one text", "two tokens"):
        (got,) = e.outputs(label, (1,))
        same(
            e.expected(label)["right/0"],
            got,
            e.tolerance(label),
            f"The loss should be {e.expected(label)['right/0'][0]:.4f}, but it is {got[0]:.4f}.",
            "With T tokens there are T - 1 predictions: the logits at 0 predict token 1, and so "
            "on. The logits at the last position have no target.",
        )


def stays_finite(e: Evidence) -> None:
    (got,) = e.outputs("large", (1,))
    same(
        e.expected("large")["right/0"],
        got,
        e.tolerance("large"),
        "The loss is wrong when the logits are large.",
        "log(softmax(z)) loses very small probabilities; F.cross_entropy and log_softmax keep them.",
    )


def stays(e: Evidence) -> None:
    stays_and_repeats(e, "main", [(1,)], ["logits"])
    if differ(e.args("main")[1], e.reply("main").arrays["after1"], 0.0):
        raise Wrong("Your code changes `tokens`.", "Slice them, but write nothing into them.")
    slopes_match(e, "main", ["logits"])
    gradient = e.array("main", "grad0", e.args("main")[0].shape)
    if np.abs(gradient[:, -1]).max() > 1e-12:
        raise Wrong(
            "The logits at the last position get a gradient, although no token follows them.",
            "Leave the last position out.",
        )


TELL = {
    "not-shifted": (
        "The logits at t are compared with the token at t itself, which the model has just read.",
        "Compare them with the token at t + 1. (Without the shift the loss falls to zero, and the "
        "model can't write anything.)",
    ),
    "shifted-backwards": (
        "The shift goes the wrong way: the logits at t are compared with the token at t - 1.",
        "Which logits have a next token, and which tokens have a prediction?",
    ),
    "shifted-by-two": (
        "The logits at t are compared with the token at t + 2.",
        "Shift only once. If the data is already shifted, the loss must not shift again.",
    ),
    "rolled": (
        "The last position is compared with the first token of the text.",
        "torch.roll wraps around. Leave the last position out.",
    ),
    "rolled-backwards": (
        "The shift goes the wrong way, and it wraps around: the logits at t are compared with the token at "
        "t - 1, and those at 0 with the last token.",
        "Which logits have a next token? Slice both tensors; torch.roll wraps around.",
    ),
    "rolled-across-texts": (
        "The last position of each text is compared with the first token of another text.",
        "torch.roll without `dims` ignores where a text ends. Leave the last position out.",
    ),
    "across-texts": (
        "The end of each text is made to predict the start of the next text in the batch.",
        "Shift along the time axis first, then flatten.",
    ),
    "last-position-only": (
        "Only the last prediction of each text counts.",
        "Every position has a loss, which is what makes a language model learn fast.",
    ),
    "sum": (
        "You return the sum of the losses, not their mean.",
        "Take the mean over all B (T - 1) predictions.",
    ),
    "sum-per-text": (
        "You add up the losses of each text and take the mean over the batch only.",
        "Take the mean over all B (T - 1) predictions.",
    ),
    "divided-by-all-tokens": (
        "You divide by the number of tokens, B T, but there are only B (T - 1) predictions.",
        "Take the mean over all predictions.",
    ),
    "softmax-twice": (
        "The cross-entropy gets probabilities, but it expects logits.",
        "F.cross_entropy applies the softmax itself.",
    ),
    "bits": (
        "The loss is in bits (with the logarithm to base 2).",
        "Use the natural logarithm here. The notebook converts to bits later.",
    ),
    "sign": (
        "The sign is wrong: this is the mean log-probability.",
        "The loss is minus the log-probability.",
    ),
    "probability": (
        "You average probabilities; the logarithm is missing.",
        "The loss of a prediction is -log p.",
    ),
}

exercise = Check(
    id="shifted-targets",
    asks=asks,
    properties=(
        Property(MATCH, 1.25, loss_matches),
        Property("large logits give the right loss too", 0.25, stays_finite, needs=(MATCH,)),
        Property("gradients flow, inputs are unchanged", 0.5, stays, needs=(MATCH,)),
    ),
    misconceptions=(
        changes_its_input(),
        *(Misconception(name, *words) for name, words in TELL.items()),
        cut_off("main", ["logits"]),
    ),
    choices=(
        (
            "not-shifted",
            "shifted-backwards",
            "shifted-by-two",
            "rolled",
            "rolled-backwards",
            "rolled-across-texts",
            "across-texts",
            "last-position-only",
        ),
        ("sum", "sum-per-text", "divided-by-all-tokens"),
        ("softmax-twice", "bits", "sign", "probability"),
    ),
    fits=fits_everywhere(),
)
