"""Judging a query by what attention makes of it: any query that reaches the target is right."""

from functools import partial

import numpy as np

from course_utils.checks.judge import Evidence, Misconception, Wrong
from course_utils.checks.layer_checks import changes_its_input

# How far the output may be from its target; the values lie between -1 and 1.
TOLERANCE = 0.01
# Number of keys, size of keys. Many keys need a larger constant than few.
SIZES = {"few": (4, 6), "square": (16, 16), "many": (200, 230)}
VALUE_SIZE = 3


def orthonormal(rng: np.random.Generator, count: int, size: int) -> np.ndarray:
    """Rows of length one, at right angles to each other, in random directions."""
    basis, _ = np.linalg.qr(rng.standard_normal((size, count)))
    return np.ascontiguousarray(basis.T)


def weights(query: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """softmax(q . k / sqrt(d)) over the last axis; `keys` may be a stack of draws."""
    scores = keys @ query / np.sqrt(keys.shape[-1])
    if not np.isfinite(scores).all():
        raise Wrong(
            "The scores of your query are too large for the computer: they became infinite.",
            "A constant like 100 * d ** 0.5 is large enough.",
        )
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def query_of(e: Evidence, label: str) -> np.ndarray:
    return e.outputs(label, (SIZES[label][1],))[0]


def output_of(e: Evidence, label: str) -> np.ndarray:
    return weights(query_of(e, label), e.args(label)[0]) @ e.options(label)["values"]


def reached(output: np.ndarray, target: np.ndarray) -> bool:
    return bool(np.abs(output - target).max() <= TOLERANCE)


def demand(e: Evidence, label: str, target: np.ndarray, chosen: list[int], goal: str) -> None:
    """Raise unless the query's output is the target, with the weights that led there."""
    keys, query = e.args(label)[0], query_of(e, label)
    share, output = weights(query, keys), output_of(e, label)
    if reached(output, target):
        return
    m, d = keys.shape
    raise Wrong(
        f"With {m} keys of size {d}, the output is not {goal}: it is off by "
        f"{np.abs(output - target).max():.3f}. The right key{'s' if len(chosen) > 1 else ''} "
        f"got {100 * share[chosen].sum():.1f}% of the weight.",
        "Look at the scores that your query gives: which are large, and how large?",
        target[None],
        output[None],
        ("", "component"),
    )


def along(e: Evidence, label: str, chosen: list[int], query: np.ndarray | None = None) -> float:
    """The constant c if the query is c times the sum of the chosen keys, else 0."""
    keys, query = e.args(label)[0], query_of(e, label) if query is None else query
    direction = keys[chosen].sum(axis=0)
    c = float(query @ direction / (direction @ direction))
    return c if np.abs(query - c * direction).max() <= 1e-6 * max(1.0, abs(c)) else 0.0


def rows_used(e: Evidence, label: str, query: np.ndarray | None = None) -> set[int]:
    """The rows of `keys` that the query points to, if it is a sum of rows, none of them negative."""
    keys, query = e.args(label)[0], query_of(e, label) if query is None else query
    parts = keys @ query  # the rows are orthonormal
    small = 1e-6 * max(1.0, float(np.abs(parts).max()))
    if np.abs(parts @ keys - query).max() > small or parts.min() < -small:
        return set()
    return {int(i) for i in np.flatnonzero(parts > small)}


# ---- known mistakes; `chosen(e, label)` gives the keys that are wanted -----------------------


def constants(e: Evidence, chosen) -> list[float]:
    return [along(e, label, chosen(e, label)) for label in SIZES]


def no_constant(e: Evidence, chosen) -> bool:
    return all(abs(c - 1) < 1e-6 for c in constants(e, chosen))


def normalised(e: Evidence, chosen) -> bool:
    lengths = [np.linalg.norm(query_of(e, label)) for label in SIZES]
    return right_direction(e, chosen) and all(abs(n - 1) < 1e-6 for n in lengths)


def right_direction(e: Evidence, chosen) -> bool:
    return all(c > 0 for c in constants(e, chosen))


def too_small(e: Evidence, chosen) -> bool:
    shares = (
        weights(query_of(e, label), e.args(label)[0])[chosen(e, label)].sum() for label in SIZES
    )
    return right_direction(e, chosen) and min(shares) < 0.999


def opposite(e: Evidence, chosen) -> bool:
    return all(c < 0 for c in constants(e, chosen))


def other_key(e: Evidence, chosen) -> bool:
    """No more rows than were asked for, and one that was not; with few keys chance may hide it."""
    used = {label: rows_used(e, label) for label in SIZES}
    few_enough = all(0 < len(used[label]) <= len(chosen(e, label)) for label in SIZES)
    return few_enough and any(used[label] - set(chosen(e, label)) for label in SIZES)


def one_hot(e: Evidence, chosen) -> bool:
    return bool(np.abs(np.delete(query_of(e, "few"), chosen(e, "few"))).max() == 0.0)


def all_alike(e: Evidence, chosen) -> bool:
    return bool(np.ptp(weights(query_of(e, "few"), e.args("few")[0])) < 1e-6)


MISTAKES = (
    (
        "all-alike",
        "Your query gives every key the same weight, so the output is the mean of all values.",
        "The query must have a larger dot product with the keys you want.",
        all_alike,
    ),
    (
        "no-constant",
        "The direction is right, but nothing makes the query long: with keys of length one "
        "the scores are at most 1 / sqrt(d), and the softmax stays nearly flat.",
        "Multiply by a constant c. How large must c / sqrt(d) be next to ln(m)?",
        no_constant,
    ),
    (
        "normalised-query",
        "The direction is right, but your query has length one: its scores are tiny, and the "
        "softmax stays nearly flat.",
        "Don't normalise. Multiply by a constant c with c / sqrt(d) well above ln(m).",
        normalised,
    ),
    (
        "opposite",
        "Your query points away from the keys you want: they get the least weight.",
        "A large weight needs a large positive dot product.",
        opposite,
    ),
    (
        "constant-too-small",
        "The direction is right, but the constant is too small: other keys keep some weight.",
        "The keys you want get exp(c / sqrt(d)), each other key gets 1, and there are m of "
        "them: c / sqrt(d) must be well above ln(m). Let c grow with sqrt(d).",
        too_small,
    ),
    (
        "one-hot-query",
        "Your query is a one-hot vector: that is a position, not a direction in key space.",
        "Build the query from the rows of `keys`.",
        one_hot,
    ),
    (
        "another-key",
        "Your query points to a key that was not asked for.",
        "Positions count from 0: the key at position 2 is keys[2]. Which rows does your query use?",
        other_key,
    ),
)


def misconceptions(chosen) -> tuple[Misconception, ...]:
    """What goes wrong with a query for the keys that `chosen(e, label)` names."""
    return (
        changes_its_input("few"),
        *(
            Misconception(name, sentence, hint, partial(found, chosen=chosen))
            for name, sentence, hint, found in MISTAKES
        ),
    )
