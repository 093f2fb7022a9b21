"""Causal self-attention with several heads, call by call, and what the known mistakes give."""

from dataclasses import dataclass, field

import numpy as np

from autograder.oracles.blocks import chosen, join, linear, softmax, split
from course_utils.checks.judge import RIGHT, Mistakes
from course_utils.checks.wire import Ask


@dataclass
class Memory:
    """What a module has read since it was reset: one piece for each call."""

    inputs: list[np.ndarray] = field(default_factory=list)
    keys: list[np.ndarray] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)


# sees(i, T, pieces) gives the keys that position i of a call with T positions attends to. `pieces`
# holds the number of keys of each call so far; keys are counted from the oldest.


def right(i, T, pieces):
    return range(sum(pieces) - T + i + 1)


def this_call_only(i, T, pieces):
    old = sum(pieces) - T
    return range(old, old + i + 1)


def everything(i, T, pieces):
    return range(sum(pieces))


def mask_from_the_top_left(i, T, pieces):
    return range(i + 1)


def last_call_and_this(i, T, pieces):
    return range(sum(pieces[:-2]), sum(pieces) - T + i + 1)


def first_call_and_this(i, T, pieces):
    old = sum(pieces) - T
    first = range(pieces[0] if len(pieces) > 1 else 0)
    return [*first, *range(old, old + i + 1)]


def earlier_calls_only(i, T, pieces):
    return range(sum(pieces) - T)


def new_keys_first(i, T, pieces):
    order: list[int] = []
    end = sum(pieces)
    for size in reversed(pieces):
        order += range(end - size, end)
        end -= size
    return order[: sum(pieces) - T + i + 1]


def mask_in_the_first_call_only(i, T, pieces):
    return range(sum(pieces) if len(pieces) > 1 else i + 1)


SEES = {
    "no-cache": this_call_only,
    "no-mask": everything,
    "mask-from-the-top-left": mask_from_the_top_left,
    "last-call-only": last_call_and_this,
    "first-call-only": first_call_and_this,
    "own-call-missing": earlier_calls_only,
    "new-keys-first": new_keys_first,
    "mask-in-first-call-only": mask_in_the_first_call_only,
}


def outputs(ask: Ask, mistakes: Mistakes) -> list[np.ndarray] | None:
    """What each call of the script returns."""
    options = ask.options
    _, num_heads = options["init"]
    count = options.get("modules", 1)
    shared = "shared-cache" in mistakes
    memories = [Memory()] * count if shared else [Memory() for _ in range(count)]
    parameters: list[dict] = [{} for _ in range(count)]
    found = []
    for step in options["script"]:
        place = step["module"]
        if "fill" in step:
            parameters[place] = step["fill"]["named"]
        elif "method" in step:
            if "reset-forgotten" not in mistakes:
                memories[place] = Memory()
        else:
            x, memory = step["args"][0], memories[place]
            if any(len(piece) != len(x) for piece in memory.inputs):
                return None  # batches of different sizes cannot be joined
            found.append(call(x, parameters[place], memory, num_heads, mistakes))
    return found


def call(x, parameters: dict, memory: Memory, num_heads: int, mistakes: Mistakes) -> np.ndarray:
    B, T, D = x.shape
    memory.inputs.append(x)
    memory.keys.append(linear(x, parameters, "W_K"))
    memory.values.append(linear(x, parameters, "W_V"))
    if "recomputed" in mistakes:
        memory.keys = [linear(piece, parameters, "W_K") for piece in memory.inputs]
        memory.values = [linear(piece, parameters, "W_V") for piece in memory.inputs]
    heads = 1 if "one-head" in mistakes else num_heads
    cut = frozenset({"heads-by-view"}) if "heads-by-reshape" in mistakes else RIGHT
    query = split(linear(x, parameters, "W_Q"), heads, cut)
    key, value = (
        np.concatenate([split(piece, heads, cut) for piece in pieces], axis=2)
        for pieces in (memory.keys, memory.values)
    )
    size = query.shape[-1]
    scales = {"no-scale": 1.0, "scale-of-model-size": D**0.5, "scaled-by-d": size}
    scores = query @ key.swapaxes(-1, -2) / chosen(mistakes, scales, size**0.5)
    pieces, context = [piece.shape[1] for piece in memory.keys], np.zeros_like(query)
    for i in range(T):
        seen = list(chosen(mistakes, SEES, right)(i, T, pieces))
        if seen:
            weights = softmax(scores[:, :, i, seen])
            context[:, :, i] = np.einsum("bhs,bhsd->bhd", weights, value[:, :, seen])
    turned = mistakes & {"heads-by-reshape", "heads-not-turned-back"}
    joined = join(context, frozenset({"heads-merged-by-view"}) if turned else RIGHT)
    return joined if "no-output-projection" in mistakes else linear(joined, parameters, "W_O")


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    found = outputs(ask, RIGHT)
    assert found is not None  # no script joins batches of different sizes
    return {f"right/call{n}": array for n, array in enumerate(found)}
