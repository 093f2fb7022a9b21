"""Writes the right arrays that ship where an oracle must not: those of the visible seeds."""

import numpy as np

from course_utils import register
from course_utils.checks import judge


def stored_arrays(exercise_id: str) -> dict[str, np.ndarray] | None:
    """The arrays to ship for an exercise, or None where it has an oracle of its own."""
    exercise = judge.load(exercise_id)
    if exercise.oracle is not None:
        return None
    try:
        oracle = judge.hidden_oracle(exercise_id)
    except ModuleNotFoundError:
        return None
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
        try:
            arrays = stored_arrays(entry.id)
        except ModuleNotFoundError:
            continue
        if arrays:
            np.savez_compressed(judge.STORED / f"{entry.id}.npz", **arrays)
            written.append(entry.id)
    return written
