"""The equations of attention in float64 NumPy, with a switch for each known mistake.

`mistakes` is a set of names of misconceptions; if it is empty, the arrays are right. This module
holds what the oracles of several notebooks share.
"""

import numpy as np

from course_utils.checks.judge import RIGHT, Mistakes
from course_utils.checks.wire import Ask

LAYER_NORM_EPS = 1e-5


def chosen(mistakes: Mistakes, rules: dict, default):
    """The rule of the mistake that was made, out of several that exclude each other."""
    return next((rule for name, rule in rules.items() if name in mistakes), default)


def softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    with np.errstate(all="ignore"):  # a row of minus infinity becomes NaN, as in PyTorch
        powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
        return powers / powers.sum(axis=axis, keepdims=True)


def over_everything(scores: np.ndarray) -> np.ndarray:
    flat = scores.reshape(*scores.shape[:-2], -1)
    return softmax(flat).reshape(scores.shape)


RULES = {
    "raw-scores": lambda z: z,
    "softmax-over-queries": lambda z: softmax(z, axis=-2),
    "softmax-over-everything": over_everything,
    "softmax-over-heads": lambda z: softmax(z, axis=1),
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
}


def weights_of(Q, K, mask=None, mistakes: Mistakes = RIGHT) -> np.ndarray:
    """softmax(Q K^T / sqrt(d)) over the last axis; leading axes (batch, heads) are kept."""
    d = Q.shape[-1]
    scale = {"no-scale": 1.0, "scaled-by-d": d, "multiplied-by-sqrt-d": 1 / np.sqrt(d)}
    scores = Q @ np.swapaxes(K, -1, -2) / chosen(mistakes, scale, np.sqrt(d))
    if "negative-scores" in mistakes:
        scores = -scores
    rule = chosen(mistakes, RULES, softmax)
    with np.errstate(all="ignore"):
        if mask is None or "mask-ignored" in mistakes:
            return rule(scores)
        allowed = np.broadcast_to(mask, scores.shape)
        if "mask-inverted" in mistakes:
            allowed = ~allowed
        if "mask-transposed" in mistakes:
            allowed = np.swapaxes(allowed, -1, -2)
        if "mask-after-softmax" in mistakes:
            return rule(scores) * allowed
        if "mask-times-infinity" in mistakes:  # 0 times infinity is NaN
            return rule(scores + ~allowed * -np.inf)
        fill = {"masked-with-zero": 0.0, "masked-with-minus-100": -100.0}
        return rule(np.where(allowed, scores, chosen(mistakes, fill, -np.inf)))


def linear(x, parameters: dict, name: str) -> np.ndarray:
    return x @ parameters[f"{name}.weight"].T + parameters[f"{name}.bias"]


def layer_norm(x, parameters: dict, name: str) -> np.ndarray:
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    normal = (x - mean) / np.sqrt(variance + LAYER_NORM_EPS)
    return normal * parameters[f"{name}.weight"] + parameters[f"{name}.bias"]


def split(x, num_heads: int, mistakes: Mistakes = RIGHT) -> np.ndarray:
    """[B, T, D] -> [B, num_heads, T, d]."""
    B, T, D = x.shape
    if "heads-by-view" in mistakes:  # time and heads get mixed
        return x.reshape(B, num_heads, T, D // num_heads)
    if "heads-interleaved" in mistakes:  # head h takes every num_heads-th column
        return x.reshape(B, T, D // num_heads, num_heads).transpose(0, 3, 1, 2)
    return x.reshape(B, T, num_heads, D // num_heads).transpose(0, 2, 1, 3)


def join(heads, mistakes: Mistakes = RIGHT) -> np.ndarray:
    """[B, num_heads, T, d] -> [B, T, D]."""
    B, num_heads, T, d = heads.shape
    if "heads-merged-by-view" in mistakes:
        return heads.reshape(B, T, num_heads * d)
    return heads.transpose(0, 2, 1, 3).reshape(B, T, num_heads * d)


def attend(
    query, key, value, projections, num_heads, mask=None, mistakes: Mistakes = RIGHT
) -> tuple[np.ndarray, np.ndarray] | None:
    """Several heads over a batch. `projections` are four functions: W_Q, W_K, W_V, W_O."""
    W_Q, W_K, W_V, W_O = projections
    if "keys-as-values" in mistakes:
        value = key
    if "queries-as-keys" in mistakes:
        if query.shape[1] != value.shape[1]:
            return None  # one weight per query does not fit the values
        key = query
    Q, K = W_Q(query), (W_Q if "keys-projected-by-query-matrix" in mistakes else W_K)(key)
    V = value if "values-not-projected" in mistakes else W_V(value)
    D, d = query.shape[2], query.shape[2] // num_heads
    other = {"scaled-by-model-size": D, "scaled-by-number-of-heads": num_heads}
    Q = Q * np.sqrt(d / chosen(mistakes, other, d))
    Q, K, V = (split(x, num_heads, mistakes) for x in (Q, K, V))
    wide = mask[:, None] if mask is not None and mask.ndim == 3 else mask
    weights = weights_of(Q, K, wide, mistakes)
    with np.errstate(all="ignore"):
        output = join(weights @ V, mistakes)
    return (output if "no-output-projection" in mistakes else W_O(output)), weights


def packed(parameters: dict, name: str):
    """The four projections of torch's own module, which keeps the first three in one matrix."""
    W, b = parameters[f"{name}.in_proj_weight"], parameters[f"{name}.in_proj_bias"]
    D = W.shape[1]

    def projection(i):
        return lambda x: x @ W[i * D : (i + 1) * D].T + b[i * D : (i + 1) * D]

    return (*(projection(i) for i in range(3)), lambda x: linear(x, parameters, f"{name}.out_proj"))


def right_arrays(outputs, ask: Ask) -> dict[str, np.ndarray]:
    """The right arrays of a question as `right/0`, ..., and the slopes if it asks for them."""
    arrays = {f"right/{i}": array for i, array in enumerate(outputs(ask, RIGHT))}
    if "directions" in ask.options:
        arrays["slopes"] = slopes(outputs, ask)
    return arrays


def slopes(outputs, ask: Ask) -> np.ndarray:
    """The derivative of sum(upstream * outputs) along each argument's direction."""
    # Small enough that a ReLU hardly ever has its corner in between, and well above rounding.
    step, found = 1e-7, []
    for index, direction in enumerate(ask.options["directions"]):
        sides = []
        for sign in (1, -1) if direction is not None else ():
            moved = list(ask.options["args"])
            moved[index] = moved[index] + sign * step * direction
            arrays = outputs(Ask(ask.label, ask.probe, ask.options | {"args": moved}), RIGHT)
            pairs = zip(ask.options["upstream"], arrays)
            sides.append(sum((u * array).sum() for u, array in pairs if u is not None))
        found.append((sides[0] - sides[1]) / (2 * step) if sides else 0.0)
    return np.array(found)
