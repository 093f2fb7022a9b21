"""Every set of matrices in the course's pen-and-paper questions, ready for the editor."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .attention_state import Setup, make_setup

_X = [[-2, 1, 0.5], [1, 1.5, -0.5], [-1.5, 1, -0.5], [-2, -2.5, 1.5]]
_W_Q = [[1, -1.5], [0, 2], [-0.5, -1]]
_W_K = [[-1.5, -1], [2.5, 0], [0.5, -1]]
_W_V = [[1, 2.5], [-0.5, -2], [0, -1]]
_ONES = [[1, 1], [1, 1], [1, 1]]
_W_O = [[-1, 1.5, 2], [0, -1, -2], [1, -1.5, 0], [2, 0, 1]]

# Four orthogonal vectors of length 1 with numbers that are easy to read.
KEYS = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
VALUES = np.array([[1, 0], [0, 2], [-1, 1], [3, -1]], dtype=float)
# One draw of the factors that make the keys noisy (mean 1, variance 0.1).
LAMBDAS = np.array([1.25, 0.7, 0.9, 1.1])


def _single_query() -> Setup:
    return make_setup(Q=[[-2, 1, -1]], K=_X, V=_X)


def _self_attention() -> Setup:
    return make_setup(X=_X, W_Q=_W_Q, W_K=_W_K, W_V=_W_V)


def _two_heads() -> Setup:
    return make_setup(
        X=_X, W_Q=_W_Q, W_K=_W_K, W_V=_W_V, W_Q2=_ONES, W_K2=_ONES, W_V2=_ONES, W_O=_W_O
    )


def _columns(rule: str) -> Setup:
    # The question writes q = A h with columns. The editor multiplies rows, x W, so W is A transposed.
    return make_setup(
        X=[[5, 1], [4, 3], [-2, 6]],
        W_Q=np.transpose([[1, 0], [2, 9]]),
        W_K=np.transpose([[0, 1], [6, 0]]),
        W_V=np.transpose([[4, 3], [9, 1]]),
        scale=False,
        rule=rule,
    )


def _orthonormal() -> Setup:
    return make_setup(Q=np.zeros((1, 4)), K=KEYS, V=VALUES)


def _noisy() -> Setup:
    return make_setup(Q=np.zeros((1, 4)), K=LAMBDAS[:, None] * KEYS, V=VALUES)


def _noisy_two_heads() -> Setup:
    noisy = LAMBDAS[:, None] * KEYS
    half = np.eye(2) / 2  # the mean of the two heads
    return make_setup(
        Q=np.zeros((1, 4)),
        K=noisy,
        V=VALUES,
        Q2=np.zeros((1, 4)),
        K2=noisy,
        V2=VALUES,
        W_O=np.concatenate([half, half]),
    )


@dataclass(frozen=True)
class Preset:
    """A setup with the words that a menu shows."""

    label: str
    make: Callable[[], Setup]


PRESETS = {
    "single-query": Preset("one query on X", _single_query),
    "self-attention": Preset("self-attention on X", _self_attention),
    "two-heads": Preset("two heads on X, with W_O", _two_heads),
    "column-vectors": Preset("h1, h2, h3 with softmax", lambda: _columns("softmax")),
    "column-vectors-argmax": Preset("h1, h2, h3 with argmax", lambda: _columns("argmax")),
    "orthonormal-keys": Preset("orthonormal keys", _orthonormal),
    "noisy-keys": Preset("noisy keys", _noisy),
    "noisy-keys-two-heads": Preset("noisy keys, two heads", _noisy_two_heads),
}


def preset(name: str) -> Setup:
    """The setup of that name, or ValueError with the names that exist."""
    if name not in PRESETS:
        raise ValueError(f"There is no preset {name!r}. Choose one of {', '.join(PRESETS)}.")
    return replace(PRESETS[name].make(), origin=name)
