"""Writes the right arrays for the visible seeds, which ship in place of the oracles."""

import itertools
from pathlib import Path

import numpy as np

from autograder import oracles
from course_utils import register
from course_utils.checks import judge
from course_utils.checks.signatures import LENGTH, signature

# Sums in another order differ by about 1e-14; a changed oracle differs by far more than this.
ROUNDING = 1e-9


def stored_arrays(exercise_id: str) -> dict[str, np.ndarray] | None:
    """The arrays to ship for an exercise, or None if it needs no hidden oracle."""
    exercise = judge.load(exercise_id)
    if exercise.oracle is not None or not oracles.has_oracle(exercise_id):
        return None
    hidden = oracles.find(exercise_id)
    plan = judge.make_plan(exercise_id, judge.VISIBLE_SEEDS)
    questions = [(seed, ask) for seed, asks in zip(plan.seeds, plan.asks) for ask in asks]
    arrays = {
        f"{seed}/{ask.label}/{name}": np.asarray(array)
        for seed, ask in questions
        for name, array in hidden.oracle(ask).items()
    }
    if not exercise.choices or not hasattr(hidden, "outputs"):
        return arrays
    combinations = [judge.RIGHT, *itertools.chain(*exercise.combinations)]
    mistakes = list(itertools.chain(*map(exercise.in_every_way, combinations)))
    names = [judge.TOGETHER.join(sorted(names)) for names in mistakes]
    return {
        **arrays,
        judge.PREDICTED: np.array(names),
        **{
            f"{seed}/{ask.label}/{judge.PREDICTED}": _signatures(hidden, ask, mistakes)
            for seed, ask in questions
            if hidden.oracle(ask)  # a question that should be refused has no right arrays
        },
    }


def _signatures(hidden: judge.Hidden, ask, mistakes) -> np.ndarray:
    """[combinations, outputs, LENGTH]; an answer that raises is a row of NaN."""
    with np.errstate(all="ignore"):  # some mistakes give NaN, which is what they predict
        found = [signature(hidden.outputs(ask, names)) for names in mistakes]
    most = max(len(one) for one in found)
    padded = np.full((len(found), most, LENGTH), np.nan, dtype=np.float32)
    for row, one in zip(padded, found):
        row[: len(one)] = one
    return padded


def write_all() -> list[str]:
    """Write every stored file that is out of date; returns its exercises."""
    written = []
    judge.STORED.mkdir(exist_ok=True)
    for entry in register.ever():
        if not entry.checked:
            continue
        arrays = stored_arrays(entry.id)
        path = judge.STORED / f"{entry.id}.npz"
        if arrays and not holds(path, arrays):
            # mypy takes any of the names for `allow_pickle`; each has a slash or is `predicted`.
            np.savez_compressed(path, **arrays)  # type: ignore[arg-type]
            written.append(entry.id)
    return written


def holds(path: Path, arrays: dict[str, np.ndarray]) -> bool:
    """Whether a file has these arrays, apart from rounding, which differs between machines."""
    if not path.exists():
        return False
    with np.load(path) as stored:
        return set(stored) == set(arrays) and all(
            _equal(stored[name], array) for name, array in arrays.items()
        )


def _equal(stored: np.ndarray, array: np.ndarray) -> bool:
    if stored.shape != array.shape or stored.dtype != array.dtype:
        return False
    if array.dtype.kind not in "fc":
        return bool((stored == array).all())
    return np.allclose(stored, array, rtol=ROUNDING, atol=ROUNDING, equal_nan=True)
