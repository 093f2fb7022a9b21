"""add_block: the running largest score, total and sum of attention after one more block of keys."""

from typing import Any

import numpy as np

from course_utils.checks.judge import Check, Evidence, Misconception, Property, same
from course_utils.checks.layer_checks import (
    changes_its_input,
    cut_off,
    fits_everywhere,
    slopes_match,
    stays_and_repeats,
)
from course_utils.checks.wire import Ask

SIZES = {  # label: T, S, d, d_v
    "first block": (4, 5, 3, 2),
    "next block": (4, 6, 3, 2),
    "nothing larger": (3, 4, 5, 6),
    "much larger": (5, 3, 4, 2),
    "one key": (1, 1, 2, 3),
    "large scores": (3, 4, 3, 2),
}
KEPT = ("largest", "total", "summed")
NAMES = (*KEPT, "query", "keys", "values")
FIRST, NEXT = (
    "a first block starts the sums",
    "a later block is added, and the old sums are rescaled",
)


def draw(rng, label: str) -> list[np.ndarray]:
    T, S, d, d_v = SIZES[label]
    query, keys = rng.standard_normal((T, d)), rng.standard_normal((S, d))
    values = rng.standard_normal((S, d_v))
    if label in ("first block", "one key"):
        return [np.full(T, -np.inf), np.zeros(T), np.zeros((T, d_v)), query, keys, values]
    # How far the largest score so far is above the scores of this block, which are about 1.
    above = {"nothing larger": 6.0, "much larger": -6.0, "large scores": 0.0}.get(label, 0.5)
    largest = above + 0.4 * rng.standard_normal(T)
    if label == "large scores":  # exp of these overflows, in float64 too
        query = 60 * np.abs(query) + 20
        keys = 20 * np.abs(keys) + 20
        largest = (query @ keys.T).max(axis=1) / np.sqrt(d) + rng.uniform(-1, 1, T)
    return [
        largest,
        rng.uniform(1, 4, T),
        2 * rng.standard_normal((T, d_v)),
        query,
        keys,
        values,
    ]


def asks(rng: np.random.Generator) -> list[Ask]:
    questions = []
    for label in SIZES:
        args = draw(rng, label)
        options: dict[str, Any] = {"target": "add_block", "args": args}
        if label == "next block":
            T, _, _, d_v = SIZES[label]
            # The largest score may be taken without a gradient: it cancels in the end.
            options["upstream"] = [None, None, rng.standard_normal((T, d_v))]
            options["directions"] = [np.zeros(a.shape) for a in args[:5]]
            options["directions"].append(rng.standard_normal(args[5].shape))
        questions.append(Ask(label, "call", options))
    return questions


def read(e: Evidence, label: str) -> list[np.ndarray]:
    T, _, _, d_v = SIZES[label]
    return e.outputs(label, (T,), (T,), (T, d_v))


def kept_matches(*labels: str, message: str, hint: str):
    def holds(e: Evidence) -> None:
        for label in labels:
            for number, (name, got) in enumerate(zip(KEPT, read(e, label))):
                same(
                    e.expected(label)[f"right/{number}"],
                    got,
                    e.tolerance(label),
                    f"`{name}` is wrong: {message}",
                    hint,
                    ("query", "component"),
                )

    return holds


def stays(e: Evidence) -> None:
    T, _, _, d_v = SIZES["next block"]
    stays_and_repeats(e, "next block", [(T,), (T,), (T, d_v)], NAMES)
    slopes_match(e, "next block", NAMES)


TELL = {
    "old-sums-not-scaled": (
        "The old total and sum are added as they are, although the largest score has changed.",
        "First multiply both by exp(old largest - new largest).",
    ),
    "total-not-scaled": (
        "The old total is added as it is, although the largest score has changed.",
        "Multiply it by exp(old largest - new largest), as you do for the sum.",
    ),
    "sum-not-scaled": (
        "The old sum is added as it is, although the largest score has changed.",
        "Multiply it by exp(old largest - new largest), as you do for the total.",
    ),
    "old-sums-forgotten": (
        "The old total and the old sum are lost, so only this block counts.",
        "The rescaled old total and what the block adds belong together; the same goes for summed.",
    ),
    "largest-of-the-block": (
        "`largest` is the largest score of this block alone; an earlier, larger one is forgotten.",
        "It is the maximum of the old largest score and those of the block.",
    ),
    "one-largest-for-all": (
        "All queries share one largest score.",
        "Each query has its own: take the maximum over the keys.",
    ),
    "largest-never-changes": (
        "`largest` never changes.",
        "It is the maximum of the old largest score and those of the block.",
    ),
    "already-divided": (
        "`summed` is divided by the total. That is done only once, after the last block.",
        "Return the sum itself.",
    ),
    "values-not-used": (
        "`summed` is not weighted: the values are simply added.",
        "Each value is weighted by exp(score - largest).",
    ),
    "no-scale": (
        "Your scores are not scaled: they should be divided by the square root of d.",
        "Divide the dot products by sqrt(d).",
    ),
    "scaled-by-d": (
        "Your scores are divided by d, not by its square root.",
        "The scale is sqrt(d).",
    ),
}

exercise = Check(
    id="online-softmax",
    asks=asks,
    properties=(
        Property(
            FIRST,
            0.75,
            kept_matches(
                "first block",
                "one key",
                message="nothing was kept before this block.",
                hint="exp(-inf) is 0, so the old sums vanish by themselves. Over which axis do you "
                "take the maximum?",
            ),
        ),
        Property(
            NEXT,
            1.25,
            kept_matches(
                "next block",
                "nothing larger",
                "much larger",
                message="something was kept before this block.",
                hint="Find the new largest score first. Then multiply what was kept by "
                "exp(old largest - new largest).",
            ),
        ),
        Property(
            "scores in the hundreds do no harm",
            0.5,
            kept_matches(
                "large scores",
                message="the scores of this block are large.",
                hint="Subtract the largest score before the exponential, not after.",
            ),
            needs=(NEXT,),
        ),
        Property("gradients flow, inputs are unchanged", 0.5, stays, needs=(NEXT,)),
    ),
    misconceptions=(
        changes_its_input("next block"),
        *(Misconception(name, *words) for name, words in TELL.items()),
        cut_off("next block", NAMES),
    ),
    choices=(
        ("old-sums-not-scaled", "total-not-scaled", "sum-not-scaled", "old-sums-forgotten"),
        ("largest-of-the-block", "one-largest-for-all", "largest-never-changes"),
        ("already-divided", "values-not-used"),
        ("no-scale", "scaled-by-d"),
    ),
    fits=fits_everywhere(),
)
