"""Writes the right arrays that ship where an oracle must not: those of the visible seeds."""

import numpy as np

from autograder import oracles
from course_utils import register
from course_utils.checks import judge


def stored_arrays(exercise_id: str) -> dict[str, np.ndarray] | None:
    """The arrays to ship for an exercise, or None where it needs no hidden oracle."""
    exercise = judge.load(exercise_id)
    if exercise.oracle is not None or not oracles.has_oracle(exercise_id):
        return None
    oracle = oracles.find(exercise_id)
    plan = judge.make_plan(exercise_id, judge.VISIBLE_SEEDS)
    return {
        f"{seed}/{ask.label}/{name}": np.asarray(array)
        for seed, asks in zip(plan.seeds, plan.asks)
        for ask in asks
        for name, array in oracle(ask).items()
    }


def write_all() -> list[str]:
    """Write every stored file anew; the exercises that have one."""
    written = []
    judge.STORED.mkdir(exist_ok=True)
    for entry in register.exercises():
        if not entry.checked:
            continue
        arrays = stored_arrays(entry.id)
        if arrays:
            np.savez_compressed(judge.STORED / f"{entry.id}.npz", **arrays)
            written.append(entry.id)
    return written
