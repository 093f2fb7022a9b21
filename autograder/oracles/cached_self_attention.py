"""Causal self-attention with several heads as loops, call by call, and what known mistakes give."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from course_utils.checks.equations import dot, softmax, weighted_sum
from course_utils.checks.wire import Ask, pack_request, unpack_request


@dataclass
class Memory:
    """What a module has been shown since it was reset: one piece for each call."""

    inputs: list[np.ndarray] = field(default_factory=list)
    weights: dict = field(default_factory=dict)
    keys: list[np.ndarray] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)


@dataclass(frozen=True)
class Way:
    """A way to compute it: the right one, or the right one with one mistake.

    sees(i, T, pieces) gives the keys that position i of a call with T positions attends to, where
    `pieces` are the numbers of keys of each call so far; keys are counted from the oldest.
    """

    sees: Callable[[int, int, list[int]], list[int]]
    scale: Callable[[int, int], float] = lambda d_model, head: head**0.5
    heads: str = "split"
    recomputes: bool = False
    resets: bool = True
    shares: bool = False
    projects: bool = True


def right(i, T, pieces):
    return list(range(sum(pieces) - T + i + 1))


def this_call_only(i, T, pieces):
    old = sum(pieces) - T
    return list(range(old, old + i + 1))


def everything(i, T, pieces):
    return list(range(sum(pieces)))


def mask_from_the_top_left(i, T, pieces):
    return list(range(i + 1))


def last_call_and_this(i, T, pieces):
    return list(range(sum(pieces[:-2]), sum(pieces) - T + i + 1))


def first_call_and_this(i, T, pieces):
    old = sum(pieces) - T
    first = range(pieces[0] if len(pieces) > 1 else 0)
    return list(first) + list(range(old, old + i + 1))


def earlier_calls_only(i, T, pieces):
    return list(range(sum(pieces) - T))


def new_keys_first(i, T, pieces):
    order, end = [], sum(pieces)
    for size in reversed(pieces):
        order += range(end - size, end)
        end -= size
    return order[: sum(pieces) - T + i + 1]


def mask_in_the_first_call_only(i, T, pieces):
    return list(range(sum(pieces) if len(pieces) > 1 else i + 1))


RIGHT = Way(right)
CALLS = {  # mistakes in what a call sees: they show where there are several calls
    "no-cache": Way(this_call_only),
    "no-mask": Way(everything),
    "mask-from-the-top-left": Way(mask_from_the_top_left),
    "last-call-only": Way(last_call_and_this),
    "first-call-only": Way(first_call_and_this),
    "own-call-missing": Way(earlier_calls_only),
    "new-keys-first": Way(new_keys_first),
    "mask-in-first-call-only": Way(mask_in_the_first_call_only),
}
ONE_CALL = {
    "no-mask": Way(everything),
    "no-scale": replace(RIGHT, scale=lambda d_model, head: 1.0),
    "scale-of-model-size": replace(RIGHT, scale=lambda d_model, head: d_model**0.5),
    "scaled-by-d": replace(RIGHT, scale=lambda d_model, head: head),
    "one-head": replace(RIGHT, heads="one"),
    "heads-by-reshape": replace(RIGHT, heads="reshape"),
    "heads-not-turned-back": replace(RIGHT, heads="not turned back"),
    "no-output-projection": replace(RIGHT, projects=False),
}
MISTAKES = {
    "whole": ONE_CALL,
    "one by one": CALLS,
    "pieces": CALLS,
    "kept": {"recomputed": replace(RIGHT, recomputes=True)},
    "reset": {"reset-forgotten": replace(RIGHT, resets=False)},
    "two modules": {"shared-cache": replace(RIGHT, shares=True)},
}


def oracle(ask: Ask) -> dict[str, np.ndarray]:
    return _arrays(pack_request({"cached-self-attention": [ask]}))


@lru_cache(maxsize=256)  # every misconception asks for the arrays of the same few questions
def _arrays(request: bytes) -> dict[str, np.ndarray]:
    ((ask,),) = unpack_request(request).values()
    return {
        f"{name}/call{number}": output
        for name, way in {"right": RIGHT, **MISTAKES.get(ask.label, {})}.items()
        for number, output in enumerate(outputs(ask.options, way))
    }


def outputs(options: dict, way: Way) -> list[np.ndarray]:
    """What each call of the script returns."""
    _, num_heads = options["init"]
    count = options.get("modules", 1)
    memories = [Memory()] * count if way.shares else [Memory() for _ in range(count)]
    weights: list[dict] = [{} for _ in range(count)]
    found = []
    for step in options["script"]:
        place = step["module"]
        if "fill" in step:
            weights[place] = step["fill"]["named"]
        elif "method" in step:
            if way.resets:
                memories[place] = Memory()
        else:
            found.append(call(step["args"][0], weights[place], memories[place], num_heads, way))
    return found


def call(x: np.ndarray, weights: dict, memory: Memory, num_heads: int, way: Way) -> np.ndarray:
    B, T, D = x.shape
    memory.inputs.append(x)
    memory.keys.append(project(x, weights, "W_K"))
    memory.values.append(project(x, weights, "W_V"))
    if way.recomputes:
        memory.keys = [project(piece, weights, "W_K") for piece in memory.inputs]
        memory.values = [project(piece, weights, "W_V") for piece in memory.inputs]
    pieces = [piece.shape[1] for piece in memory.keys]
    query = heads_of([project(x, weights, "W_Q")], num_heads, way)
    key = heads_of(memory.keys, num_heads, way)
    value = heads_of(memory.values, num_heads, way)
    size = query.shape[-1]
    context = np.zeros_like(query)
    for b in range(B):
        for h in range(query.shape[1]):
            for i in range(T):
                seen = way.sees(i, T, pieces)
                if seen:
                    scores = [dot(query[b, h, i], key[b, h, j]) / way.scale(D, size) for j in seen]
                    context[b, h, i] = weighted_sum(softmax(scores), value[b, h][seen])
    joined = join(context, way)
    return project(joined, weights, "W_O") if way.projects else joined


def project(x: np.ndarray, weights: dict, name: str) -> np.ndarray:
    matrix, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
    return np.array([[matrix @ position + bias for position in sequence] for sequence in x])


def heads_of(pieces: list[np.ndarray], num_heads: int, way: Way) -> np.ndarray:
    """[B, T, D] of each call -> [B, H, all positions, D / H]."""
    num_heads = 1 if way.heads == "one" else num_heads
    split = []
    for piece in pieces:
        B, T, D = piece.shape
        if way.heads == "reshape":
            split.append(piece.reshape(B, num_heads, T, D // num_heads))
        else:
            split.append(piece.reshape(B, T, num_heads, D // num_heads).transpose(0, 2, 1, 3))
    return np.concatenate(split, axis=2)


def join(context: np.ndarray, way: Way) -> np.ndarray:
    """[B, H, T, D / H] -> [B, T, D]."""
    B, H, T, size = context.shape
    if way.heads in ("reshape", "not turned back"):
        return context.reshape(B, T, H * size)
    return context.transpose(0, 2, 1, 3).reshape(B, T, H * size)
