"""two_head_queries: two queries whose outputs average well even though the keys are noisy."""

import numpy as np

from course_utils.checks import queries
from course_utils.checks.judge import Check, Evidence, Misconception, Property, Wrong
from course_utils.checks.wire import Ask

VARIANCE = 0.1
LEAST_FACTOR = 0.25  # a factor below zero reverses a key, and no query for its direction finds it
DRAWS = 30
STILL = "without noise, the mean of the two heads is the mean of v_a and v_b"


def asks(rng: np.random.Generator) -> list[Ask]:
    found = []
    for label, (m, d) in queries.SIZES.items():
        a, b = (int(i) for i in rng.choice(m, 2, replace=False))
        options = {
            "target": "two_head_queries",
            "args": [queries.orthonormal(rng, m, d), a, b],
            "values": rng.uniform(-1, 1, (m, queries.VALUE_SIZE)),
            "factors": _factors(rng, m),
        }
        found.append(Ask(label, "call", options))
    return found


def _factors(rng: np.random.Generator, count: int) -> np.ndarray:
    """Draws of lambda from N(1, variance), none below the least factor."""
    found = rng.normal(1, np.sqrt(VARIANCE), (DRAWS, count))
    while (found < LEAST_FACTOR).any():
        low = found < LEAST_FACTOR
        found[low] = rng.normal(1, np.sqrt(VARIANCE), int(low.sum()))
    return found


def pair(e: Evidence, label: str) -> list[np.ndarray]:
    d = queries.SIZES[label][1]
    return e.outputs(label, (d,), (d,))


def outputs(e: Evidence, label: str, factors: np.ndarray) -> np.ndarray:
    """The mean of the two heads for each draw of the factors, [draws, value size]."""
    keys = factors[:, :, None] * e.args(label)[0]
    share = sum(queries.weights(query, keys) for query in pair(e, label)) / 2
    return share @ e.options(label)["values"]


def target(e: Evidence, label: str) -> np.ndarray:
    return e.options(label)["values"][e.args(label)[1:]].mean(axis=0)


def still_matches(e: Evidence) -> None:
    for label, (m, d) in queries.SIZES.items():
        (output,) = outputs(e, label, np.ones((1, m)))
        if not queries.reached(output, target(e, label)):
            raise Wrong(
                f"With {m} keys of size {d} and no noise, the output is not the mean of v_a and "
                f"v_b: it is off by {np.abs(output - target(e, label)).max():.3f}.",
                "What should head 1 return, and what head 2, so that their mean is right?",
                target(e, label)[None],
                output[None],
                ("", "component"),
            )


def noise_survived(e: Evidence) -> None:
    for label, (m, d) in queries.SIZES.items():
        found = outputs(e, label, e.options(label)["factors"])
        gaps = np.abs(found - target(e, label)).max(axis=1)
        if gaps.max() > 2 * queries.TOLERANCE:
            worst = int(gaps.argmax())
            raise Wrong(
                f"With {m} noisy keys of size {d}, the output is off by up to {gaps.max():.3f} "
                f"over {DRAWS} draws (on average by {gaps.mean():.3f}).",
                "Give each head one thing to find. Noise then changes how sure it is, not what "
                "it finds.",
                target(e, label)[None],
                found[worst][None],
                ("", "component"),
            )


def _along(e: Evidence, label: str, query: np.ndarray, chosen: list[int]) -> float:
    return queries.along(e, label, chosen, query)


def one_query_twice(e: Evidence) -> bool:
    return all(
        _along(e, label, query, list(e.args(label)[1:])) > 0
        for label in queries.SIZES
        for query in pair(e, label)
    )


def same_key_twice(e: Evidence) -> bool:
    """In every question, so that a row that is off by one is not taken for this by chance."""
    return all(
        any(all(_along(e, label, query, [i]) > 0 for query in pair(e, label)) for i in (a, b))
        for label in queries.SIZES
        for a, b in [e.args(label)[1:]]
    )


def _one_each(e: Evidence, label: str, sign: int) -> bool:
    a, b = e.args(label)[1:]
    first, second = pair(e, label)
    straight = sign * _along(e, label, first, [a]) > 0 and sign * _along(e, label, second, [b]) > 0
    crossed = sign * _along(e, label, first, [b]) > 0 and sign * _along(e, label, second, [a]) > 0
    return straight or crossed


def too_small(e: Evidence) -> bool:
    return all(_one_each(e, label, 1) for label in queries.SIZES)


def opposite(e: Evidence) -> bool:
    return all(_one_each(e, label, -1) for label in queries.SIZES)


def another_direction(e: Evidence) -> bool:
    """Each head points to one direction, and somewhere one of them was not asked for."""
    used = {
        label: [queries.rows_used(e, label, query) for query in pair(e, label)]
        for label in queries.SIZES
    }
    one_each = all(len(rows) == 1 for heads in used.values() for rows in heads)
    return one_each and any(
        set.union(*heads) - set(e.args(label)[1:]) for label, heads in used.items()
    )


def one_pair(e: Evidence) -> bool:
    return e.reply("few").arrays["out0"].shape == (2, queries.SIZES["few"][1])


exercise = Check(
    id="two-head-queries",
    asks=asks,
    properties=(
        Property(STILL, 1, still_matches),
        Property(
            "with noisy keys, the mean of the heads stays there in every draw",
            3,
            noise_survived,
            (STILL,),
        ),
    ),
    misconceptions=(
        Misconception(
            "one-query-twice",
            "Both heads use the query for the average, so noise tips each of them to one side, just "
            "as it does with one head.",
            "Let head 1 find only v_a and head 2 only v_b. The mean comes afterwards.",
            one_query_twice,
        ),
        Misconception(
            "same-key-twice",
            "Both heads find the same value.",
            "Head 1 is for a, head 2 is for b.",
            same_key_twice,
        ),
        Misconception(
            "another-key",
            "A head points to a direction that was not asked for.",
            "Positions count from 0: head 1 is for directions[a], head 2 for directions[b].",
            another_direction,
        ),
        Misconception(
            "constant-too-small",
            "The directions are right, but the constant is too small: with many keys, or with "
            "a small factor, the rest still gets weight.",
            "c * lambda / sqrt(d) must be well above ln(m), for a small lambda as well.",
            too_small,
        ),
        Misconception(
            "opposite",
            "Your queries point away from the directions.",
            "A large weight needs a large positive dot product.",
            opposite,
        ),
        Misconception(
            "one-tensor",
            "You return one tensor with two rows. Return two tensors instead.",
            "return query_1, query_2",
            one_pair,
        ),
    ),
)
