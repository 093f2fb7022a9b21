"""The equations of the transformer in float64 NumPy, and each known mistake as a `twist`.

A twist is the name of one misconception; without it the arrays are right. What the oracles of
notebooks 05 and 06 share stands here.
"""

import functools

import numpy as np

LAYER_NORM_EPS = 1e-5


def remembered(oracle):
    """The oracle, computed once for each question: a verdict looks at its arrays many times."""
    kept = {}

    @functools.wraps(oracle)
    def recall(ask):
        if id(ask) not in kept:
            if len(kept) > 512:
                kept.clear()
            kept[id(ask)] = (ask, oracle(ask))  # with the question, so that its id stays its own
        return kept[id(ask)][1]

    return recall


def softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    with np.errstate(all="ignore"):
        powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
        return powers / powers.sum(axis=axis, keepdims=True)


def head(Q, K, V, mask=None, twist: str = "") -> tuple[np.ndarray, np.ndarray]:
    """One sequence, one head: output and weights, a row at a time."""
    (T, d), S = Q.shape, len(K)
    scores = np.array([[Q[t] @ K[s] for s in range(S)] for t in range(T)])
    scale = {
        "no-scale": 1.0,
        "scaled-by-d": d,
        "multiplied-by-sqrt-d": 1 / np.sqrt(d),
    }.get(twist, np.sqrt(d))
    scores = scores / scale
    if twist == "negative-scores":
        scores = -scores
    allowed = np.ones((T, S), bool) if mask is None else np.array(mask, bool)
    if twist == "mask-inverted" and mask is not None:
        allowed = ~allowed
    if twist == "mask-transposed" and mask is not None and T == S:
        allowed = allowed.T
    if twist == "raw-scores":
        weights = scores
    elif twist in ("mask-ignored", "mask-after-softmax"):
        weights = softmax(scores)
        if twist == "mask-after-softmax":
            weights = weights * allowed
    elif twist == "masked-with-zero":
        weights = softmax(np.where(allowed, scores, 0.0))
    elif twist == "softmax-over-queries":
        weights = softmax(np.where(allowed, scores, -np.inf), axis=0)
    elif twist == "softmax-over-everything":
        weights = softmax(np.where(allowed, scores, -np.inf).ravel()).reshape(T, S)
    elif twist == "sigmoid":
        weights = 1 / (1 + np.exp(-np.where(allowed, scores, -np.inf)))
    else:
        weights = np.array([softmax(np.where(a, row, -np.inf)) for a, row in zip(allowed, scores)])
    weights = np.nan_to_num(weights)
    return np.array([sum(row[s] * V[s] for s in range(S)) for row in weights]), weights


def linear(x, parameters: dict, name: str) -> np.ndarray:
    return x @ parameters[f"{name}.weight"].T + parameters[f"{name}.bias"]


def layer_norm(x, parameters: dict, name: str) -> np.ndarray:
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    normal = (x - mean) / np.sqrt(variance + LAYER_NORM_EPS)
    return normal * parameters[f"{name}.weight"] + parameters[f"{name}.bias"]


def attend(
    query, key, value, projections, num_heads, mask=None, twist=""
) -> tuple[np.ndarray, np.ndarray]:
    """Several heads over a batch. `projections` are four functions: W_Q, W_K, W_V, W_O."""
    W_Q, W_K, W_V, W_O = projections
    B, T, D = query.shape
    S, d = key.shape[1], D // num_heads
    if twist == "keys-as-values":
        value = key
    if twist == "queries-as-keys" and T == S:
        key = query
    Q, K, V = W_Q(query), W_K(key), W_V(value)
    if twist == "values-not-projected":
        V = value
    if twist == "keys-projected-by-query-matrix":
        K = W_Q(key)
    output, weights = np.zeros((B, T, D)), np.zeros((B, num_heads, T, S))
    for b in range(B):
        allowed = mask[b] if mask is not None and mask.ndim == 3 else mask
        allowed = None if allowed is None else np.broadcast_to(allowed, (T, S))
        for h in range(num_heads):
            part = slice(h * d, (h + 1) * d)
            if twist == "heads-interleaved":
                part = slice(h, None, num_heads)
            Qh, Kh, Vh = Q[b][:, part], K[b][:, part], V[b][:, part]
            if twist == "heads-by-view":  # view(B, num_heads, T, d): time and heads get mixed
                Qh = Q[b].reshape(num_heads, T, d)[h]
                Kh, Vh = K[b].reshape(num_heads, S, d)[h], V[b].reshape(num_heads, S, d)[h]
            if twist == "scaled-by-model-size":
                Qh = Qh * np.sqrt(d) / np.sqrt(D)
            if twist == "scaled-by-number-of-heads":
                Qh = Qh * np.sqrt(d) / np.sqrt(num_heads)
            out, weights[b, h] = head(Qh, Kh, Vh, allowed, twist)
            output[b][:, h * d : (h + 1) * d] = out
        if twist == "heads-merged-by-view":  # [num_heads, T, d] read as [T, D]
            stacked = np.stack([output[b][:, h * d : (h + 1) * d] for h in range(num_heads)])
            output[b] = stacked.reshape(T, D)
    if twist == "softmax-over-heads":
        Qs = Q.reshape(B, T, num_heads, d).transpose(0, 2, 1, 3)
        Ks, Vs = (a.reshape(B, S, num_heads, d).transpose(0, 2, 1, 3) for a in (K, V))
        scores = Qs @ Ks.transpose(0, 1, 3, 2) / np.sqrt(d)
        if mask is not None:
            wide = mask[:, None] if mask.ndim == 3 else mask
            scores = np.where(wide, scores, -np.inf)
        weights = np.nan_to_num(softmax(scores, axis=1))
        output = (weights @ Vs).transpose(0, 2, 1, 3).reshape(B, T, D)
    if twist != "no-output-projection":
        output = W_O(output)
    return output, weights


def attend_at_once(query, key, value, projections, num_heads, mask=None) -> np.ndarray:
    """The output of `attend` without its loops, for oracles that attend many times."""
    W_Q, W_K, W_V, W_O = projections
    (B, T, D), S, d = query.shape, key.shape[1], query.shape[2] // num_heads
    Q = W_Q(query).reshape(B, T, num_heads, d)
    K, V = (x.reshape(B, S, num_heads, d) for x in (W_K(key), W_V(value)))
    scores = np.einsum("bthd,bshd->bhts", Q, K) / np.sqrt(d)
    if mask is not None:
        scores = np.where(mask[:, None] if mask.ndim == 3 else mask, scores, -np.inf)
    return W_O(np.einsum("bhts,bshd->bthd", softmax(scores), V).reshape(B, T, D))


def packed(parameters: dict, name: str):
    """The four projections of torch's own module, whose first three are one matrix."""
    W, b = parameters[f"{name}.in_proj_weight"], parameters[f"{name}.in_proj_bias"]
    D = W.shape[1]

    def projection(i):
        return lambda x: x @ W[i * D : (i + 1) * D].T + b[i * D : (i + 1) * D]

    return (*(projection(i) for i in range(3)), lambda x: linear(x, parameters, f"{name}.out_proj"))


def slopes(function, arguments: list, directions: list, upstream: list) -> np.ndarray:
    """The derivative of sum(upstream * outputs) along each argument's direction."""
    step, found = 1e-5, []
    for index, direction in enumerate(directions):
        if direction is None:
            found.append(0.0)
            continue
        sides = []
        for sign in (1, -1):
            moved = list(arguments)
            moved[index] = moved[index] + sign * step * direction
            outputs = function(*moved)
            sides.append(sum((u * o).sum() for u, o in zip(upstream, outputs) if u is not None))
        found.append((sides[0] - sides[1]) / (2 * step))
    return np.array(found)


def with_mistakes(function, twists, *arguments) -> dict[str, np.ndarray]:
    """The right arrays as `right/0`, ..., and those of each twist that differ, as `twist/0`, ..."""
    right = function(*arguments, "")
    arrays = {f"right/{i}": array for i, array in enumerate(right)}
    for twist in twists:
        wrong = function(*arguments, twist)
        if any(w.shape != r.shape or np.abs(w - r).max() > 1e-6 for w, r in zip(wrong, right)):
            arrays |= {f"{twist}/{i}": array for i, array in enumerate(wrong)}
    return arrays
