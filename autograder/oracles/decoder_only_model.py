"""A model shaped like GPT-2 in NumPy, and what the known mistakes give."""

import math

import numpy as np

from autograder.oracles.blocks import (
    attend,
    chosen,
    layer_norm,
    linear,
    packed,
    right_arrays,
    softmax,
)
from course_utils.checks.judge import RIGHT, Mistakes
from course_utils.checks.wire import Ask


def tanh_gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def exact_gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


ACTIVATIONS = {"relu": lambda x: np.maximum(x, 0), "exact-gelu": exact_gelu}


def feed_forward(x, parameters: dict, name: str, mistakes: Mistakes) -> np.ndarray:
    hidden = linear(x, parameters, f"{name}.0")
    return linear(chosen(mistakes, ACTIVATIONS, tanh_gelu)(hidden), parameters, f"{name}.2")


def causal_layer(x, parameters: dict, prefix: str, num_heads: int, mistakes: Mistakes):
    T = x.shape[1]
    ahead = {"no-causal-mask": T, "causal-mask-one-ahead": 1}
    mask = np.tril(np.ones((T, T), bool), chosen(mistakes, ahead, 0))

    def attention(z):
        found = attend(z, z, z, packed(parameters, f"{prefix}attention"), num_heads, mask)
        assert found is not None  # without mistakes the shapes fit
        return found[0]

    def feed(z):
        return feed_forward(z, parameters, f"{prefix}feed_forward", mistakes)

    sublayers = [attention] if "no-feed-forward" in mistakes else [attention, feed]
    for number, sublayer in enumerate(sublayers, 1):
        name = f"{prefix}norm{number}"
        if "norms-after" in mistakes:
            x = layer_norm(x + sublayer(x), parameters, name)
            continue
        z = x if "no-layer-norms" in mistakes else layer_norm(x, parameters, name)
        kept = {"residual-from-the-norm": z, "no-residuals": np.zeros_like(x)}
        x = chosen(mistakes, kept, x) + sublayer(z)
    return x


def final(ask: Ask, mistakes: Mistakes) -> np.ndarray:
    """What goes into the readout, [B, T, D]."""
    _, D, num_heads, num_layers, *_ = ask.options["init"]
    parameters = ask.options["fill"]["named"]
    tokens, first = (ask.options["args"] + [0])[:2]
    if "first-ignored" in mistakes:
        first = 0
    places = parameters["positions.weight"][first : first + tokens.shape[1]]
    scale = math.sqrt(D) if "embeddings-scaled" in mistakes else 1.0
    x = parameters["tokens.weight"][tokens] * scale
    x = embedded = x if "no-positions" in mistakes else x + places
    for number in range(1 if "one-layer-only" in mistakes else num_layers):
        given = embedded if "layers-not-chained" in mistakes else x
        x = causal_layer(given, parameters, f"layers.{number}.", num_heads, mistakes)
    return x if "no-final-norm" in mistakes else layer_norm(x, parameters, "norm")


def outputs(ask: Ask, mistakes: Mistakes) -> list[np.ndarray]:
    with np.errstate(all="ignore"):  # without norms the numbers grow until they overflow
        x = final(ask, mistakes)
    logits = x @ ask.options["fill"]["named"]["tokens.weight"].T
    if "last-position-only" in mistakes:
        logits = logits[:, -1]
    return [softmax(logits) if "probabilities" in mistakes else logits]


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    if ask.label.startswith("bad"):
        return {}
    return right_arrays(outputs, ask) | {"final": final(ask, RIGHT)}
