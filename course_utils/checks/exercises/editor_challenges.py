"""editor-challenges: what was found in the attention editor, with each distance measured again.

The answers are plain numbers. What the editor reported about them does not count: attention is
computed here without it, and any numbers that reach a goal are right.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from course_utils.checks import queries
from course_utils.checks.equations import dot, softmax, weighted_sum
from course_utils.checks.judge import Check, Evidence, Misconception, Property, Wrong
from course_utils.checks.wire import Ask
from course_utils.editor.attention_state import COOLEST, HOTTEST
from course_utils.editor.challenges import ANSWERS, CHALLENGES, noisy_keys
from course_utils.editor.numbers import LARGEST

SLACK = 1e-9  # the editor adds in another order
LOOK_AGAIN = (
    "Choose this challenge in the editor, and watch the distance while you change a number."
)
LABEL = "answers"

Answer = dict[str, np.ndarray]


def asks(rng: np.random.Generator) -> list[Ask]:
    # The goals are the same for everyone: `rng` has nothing to draw here.
    entries = {name: list(challenge.may_edit) for name, challenge in CHALLENGES.items()}
    return [Ask(LABEL, "entries", {"name": ANSWERS, "entries": entries})]


# What the student handed in --------------------------------------------------------------------


@cache
def fixed(name: str) -> Answer:
    """The matrices that a challenge gives."""
    return dict(CHALLENGES[name].begin().matrices)


def shape_of(name: str, part: str) -> tuple[int, ...]:
    if part == "temperature":
        return ()
    if part == "mask":
        return len(fixed(name)["Q"]), len(fixed(name)["K"])
    return fixed(name)[part].shape


def answer_of(e: Evidence, name: str) -> Answer:
    """The numbers handed in for a challenge, or `Wrong` with what they are instead."""
    reply = e.reply(LABEL)
    if name in reply.notes:
        raise Wrong(
            reply.notes[name],
            "When the editor shows Solved, a line appears below the matrices. Copy it to your answer.",
        )
    found = {}
    for part in CHALLENGES[name].may_edit:
        array, wanted = reply.arrays[f"{name}/{part}"].astype(float), shape_of(name, part)
        if not wanted and array.size == 1:  # a number travels as an array of one
            array = array.reshape(())
        if array.shape != wanted:
            size = " by ".join(map(str, wanted)) if wanted else "one number"
            raise Wrong(f"`{part}` should be {size}.", "Copy the line from the editor as it is.")
        low, high = (COOLEST, HOTTEST) if part == "temperature" else (-LARGEST, LARGEST)
        if not ((low <= array) & (array <= high)).all():  # NaN too is in no range
            bounds = f"{low:,.7g} to {high:,.7g}"
            raise Wrong(f"`{part}` contains a number outside the range from {bounds}.")
        if part == "mask" and not np.isin(array, (0, 1)).all():
            raise Wrong("`mask` should contain 1 where a key is seen and 0 where it is hidden.")
        found[part] = array
    return found


# Attention, by its equations ---------------------------------------------------------------------


def attend(query, keys, values, seen=None, temperature=1.0) -> tuple[np.ndarray, np.ndarray]:
    """The weights of one query and its output; a query that sees no key gets nothing."""
    weights = np.zeros(len(keys))
    places = [j for j in range(len(keys)) if seen is None or seen[j]]
    if places:
        root = np.sqrt(len(query))
        weights[places] = softmax([dot(query, keys[j]) / root / temperature for j in places])
    return weights, weighted_sum(weights, values)


def project(rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    return np.array([[dot(row, column) for column in matrix.T] for row in rows])


def all_rows(name: str, answer: Answer) -> tuple[np.ndarray, np.ndarray]:
    """Weights and output of every query of a challenge with one head."""
    given = fixed(name) | answer
    if "X" in given:
        Q, K, V = (project(given["X"], given[f"W_{letter}"]) for letter in "QKV")
    else:
        Q, K, V = given["Q"], given["K"], given["V"]
    temperature = float(given.get("temperature", 1.0))
    masks = given.get("mask", [None] * len(Q))
    pairs = [attend(q, K, V, seen, temperature) for q, seen in zip(Q, masks)]
    return np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])


# The goals -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """How far an answer is from its goal, and in words where."""

    distance: float
    words: str
    expected: np.ndarray | None = None
    got: np.ndarray | None = None


@cache
def wanted_rows(name: str) -> dict[int, np.ndarray]:
    """The rows of the output that a goal is about, counted from 0, and what each should be."""
    given = fixed(name)
    if name == "look-back":
        return {t: given["X"][t - 1] for t in range(1, len(given["X"]))}
    V = given["V"]
    return {
        "copy-one": {0: V[2]},
        "average-two": {1: (V[0] + V[2]) / 2},
        "copy-everywhere": {i: V[3] for i in range(3)},
        "mean-of-all": {i: sum(V) / len(V) for i in range(3)},
        "running-mean": {t: sum(V[: t + 1]) / (t + 1) for t in range(len(V))},
    }[name]


def measure_rows(name: str, answer: Answer) -> Measured:
    output, wanted = all_rows(name, answer)[1], wanted_rows(name)
    gaps = {row: float(np.abs(output[row] - target).max()) for row, target in wanted.items()}
    worst = max(gaps, key=gaps.__getitem__)
    others = [row + 1 for row, gap in gaps.items() if gap > limit(name) and row != worst]
    words = f"Row {worst + 1} of the output is off by {gaps[worst]:.3g}"
    if others:
        words += f", and row{'s' * (len(others) > 1)} {' and '.join(map(str, others))} too"
    rows = list(wanted)
    return Measured(gaps[worst], words, np.array(list(wanted.values())), output[rows])


def measure_half(name: str, answer: Answer) -> Measured:
    largest = float(all_rows(name, answer)[0][0].max())
    distance = abs(largest - 0.5)
    return Measured(
        distance, f"The largest weight of row 1 is {largest:.3f}, off by {distance:.3f}"
    )


def measure_noise(name: str, answer: Answer) -> Measured:
    """The mean over the draws of the largest gap, with the mean of the two heads as the output."""
    V = fixed(name)["V"]
    heads = [queries.weights(answer[part][0], noisy_keys()) @ V for part in ("Q", "Q2")]
    gaps = np.abs(sum(heads) / 2 - (V[0] + V[1]) / 2).max(axis=1)
    distance = float(gaps.mean())
    return Measured(distance, f"Over {len(gaps)} draws row 1 is off by {distance:.3g} on average")


MEASURES: dict[str, Callable[[str, Answer], Measured]] = {
    "half-weight": measure_half,
    "two-heads-noise": measure_noise,
}


def limit(name: str) -> float:
    return CHALLENGES[name].tolerance + SLACK


def measure(name: str, answer: Answer) -> Measured:
    return MEASURES.get(name, measure_rows)(name, answer)


def reaches(name: str, answer: Answer) -> bool:
    return measure(name, answer).distance <= limit(name)


def reached(name: str):
    def holds(e: Evidence) -> None:
        found = measure(name, answer_of(e, name))
        if not found.distance <= limit(name):
            aim = f"; the goal allows {CHALLENGES[name].tolerance:g}."
            axes = (f"the output that {CHALLENGES[name].title!r} asks for", "")
            raise Wrong(found.words + aim, LOOK_AGAIN, found.expected, found.got, axes)

    return holds


# Near misses -----------------------------------------------------------------------------------------


def missed(e: Evidence, *names: str) -> Iterator[tuple[str, Answer]]:
    """The answers that were given but do not reach their goal."""
    for name in names or CHALLENGES:
        try:
            answer = answer_of(e, name)
        except Wrong:
            continue
        if not reaches(name, answer):
            yield name, answer


def as_it_starts(e: Evidence) -> bool:
    starts = {"mask": 1.0, "temperature": 1.0}
    return any(
        all((array == fixed(name).get(part, starts.get(part))).all() for part, array in a.items())
        for name, a in missed(e)
    )


def under_another_name(e: Evidence) -> bool:
    twins = {
        "copy-one": "average-two",
        "average-two": "copy-one",
        "copy-everywhere": "mean-of-all",
        "mean-of-all": "copy-everywhere",
    }
    return any(reaches(twins[name], answer) for name, answer in missed(e, *twins))


def in_another_row(e: Evidence) -> bool:
    found = missed(e, "copy-one", "average-two")
    return any(reaches(name, {"Q": answer["Q"][::-1]}) for name, answer in found)


def another_value(e: Evidence) -> bool:
    """Every row that was asked for is one of the values, but not the right one."""
    for name, answer in missed(e, "copy-one", "copy-everywhere"):
        output = all_rows(name, answer)[1][list(wanted_rows(name))]
        if any(np.abs(output - value).max() <= limit(name) for value in fixed(name)["V"]):
            return True
    return False


def too_small(e: Evidence) -> bool:
    long = ("copy-one", "average-two", "copy-everywhere", "look-back", "two-heads-noise")
    return any(
        reaches(name, {part: 100 * array for part, array in answer.items()})
        for name, answer in missed(e, *long)
    )


def mask_turned(e: Evidence) -> bool:
    return any(
        reaches(name, {"mask": turned})
        for name, answer in missed(e, "running-mean")
        for turned in (1 - answer["mask"], answer["mask"].T)
    )


def mask_without_itself(e: Evidence) -> bool:
    return any(
        reaches(name, {"mask": np.maximum(answer["mask"], np.eye(len(answer["mask"])))})
        for name, answer in missed(e, "running-mean")
    )


def one_query_twice(e: Evidence) -> bool:
    return any(
        np.abs(answer["Q"] - answer["Q2"]).max() <= 1e-6 * np.abs(answer["Q"]).max()
        for _, answer in missed(e, "two-heads-noise")
    )


exercise = Check(
    id="editor-challenges",
    asks=asks,
    properties=tuple(
        Property(f"{challenge.title} ({name})", 1, reached(name))
        for name, challenge in CHALLENGES.items()
    ),
    misconceptions=(
        Misconception(
            "as-it-starts",
            "One challenge in your answer is still as it starts: nothing in it has been changed.",
            "Copy its line when the editor shows Solved.",
            as_it_starts,
        ),
        Misconception(
            "in-another-row",
            "You reach a goal, but in a different row of the output from the one asked for.",
            "Row 1 of the output comes from row 1 of Q, row 2 from row 2.",
            in_another_row,
        ),
        Misconception(
            "under-another-name",
            "One answer reaches the goal of another challenge, not its own.",
            "Is the name between the quotes the right one? If it is, what does this challenge ask for?",
            under_another_name,
        ),
        Misconception(
            "another-value",
            "You copy a value, but not the one asked for.",
            "The rows of V are v1, v2, v3 and v4, counted from 1.",
            another_value,
        ),
        Misconception(
            "one-query-twice",
            "Both heads have the same query: two heads that look for the same thing are one head.",
            "Let head 1 look for one key, and head 2 for the other.",
            one_query_twice,
        ),
        Misconception(
            "too-small",
            "The direction is right, but the numbers are too small, so the softmax stays too flat.",
            "Multiply the numbers you changed by 10, and look at the weights.",
            too_small,
        ),
        Misconception(
            "mask-turned",
            "Your mask is the right one for the running mean, but inverted or transposed.",
            "Row t belongs to query t and sees the values v1 to vt: 1 is seen, 0 is hidden.",
            mask_turned,
        ),
        Misconception(
            "mask-without-itself",
            "Your mask stops one short: some row hides the value at its own place.",
            "The mean of v1 to vt includes vt.",
            mask_without_itself,
        ),
    ),
)
