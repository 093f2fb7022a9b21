"""What sequence models cost: seconds and memory against the length of the sequence."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from course_utils.language_model.cache import InPlace, copy_weights
from course_utils.language_model.sequence_models import KINDS, KeptWeights, make_layer, run_layer

TOO_FAR = 0.3  # from the line: then something else was running on the machine


@dataclass(frozen=True)
class Cost:
    """What one measurement gave: seconds, and bytes or numbers kept."""

    kind: str
    length: int
    seconds: float
    kept: float


def training_costs(lengths: Sequence[int], d_model: int = 64, repeats: int = 3) -> list[Cost]:
    """Time of one training step of one layer, and the bytes kept for its backward pass.

    Attention is measured twice: "transformer" stores its weights [num_heads, L, L], as the
    equations do; "transformer, fused" works through them in pieces and stores none.
    """
    costs = []
    for kind in (*KINDS, "transformer, fused"):
        torch.manual_seed(0)
        layer = make_layer(kind.partition(",")[0], d_model)
        if kind == "transformer":
            layer.self_attn = KeptWeights(layer.self_attn)
        for length in lengths:
            x = torch.randn(1, length, d_model)
            seconds = least_seconds(partial(_train_once, layer, x), repeats)
            costs.append(Cost(kind, length, seconds, kept_for_backward(layer, x)))
    return costs


def _train_once(layer: nn.Module, x: Tensor) -> None:
    run_layer(layer, x).sum().backward()


def kept_for_backward(layer: nn.Module, x: Tensor) -> float:
    """The bytes that autograd stores between the forward and the backward pass."""
    stored: dict[int, int] = {}
    parameters = {p.untyped_storage().data_ptr() for p in layer.parameters()}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            stored[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        result = run_layer(layer, x).sum()
    del result  # it held the tensors: until here no address could be used twice
    return float(sum(stored.values()))


@torch.no_grad()
def generation_costs(
    lengths: Sequence[int], attention: type[nn.Module], d_model: int = 64, repeats: int = 5
) -> list[Cost]:
    """Time of one more position after so many, and the numbers kept until then.

    `attention` is a class like CachedSelfAttention: it keeps keys and values from call to call.
    """
    costs = []
    for kind in KINDS:
        torch.manual_seed(0)
        layer = make_layer(kind, d_model).eval()
        if kind == "transformer":
            mixer: Any = attention(d_model, layer.self_attn.num_heads)
            copy_weights(layer.self_attn, mixer)
            layer.self_attn = InPlace(mixer)
        else:
            mixer = layer.self_attn.attend
            layer.self_attn = InPlace(mixer.step)
        for length in lengths:
            mixer.reset()
            past = torch.randn(1, length, d_model)
            pieces = past.split(length if kind == "transformer" else 1, dim=1)
            for piece in pieces:
                layer(piece)
            kept = kept_numbers(mixer)
            new = torch.randn(1, 1, d_model)
            costs.append(Cost(kind, length, least_seconds(partial(layer, new), repeats), kept))
    return costs


def kept_numbers(module: nn.Module) -> int:
    """How many real numbers a module keeps besides its parameters."""

    def count(value: Any) -> int:
        if isinstance(value, nn.Parameter | nn.Module):
            return 0
        if isinstance(value, Tensor):
            return value.numel() * (2 if value.is_complex() else 1)
        if isinstance(value, dict):
            return sum(count(v) for v in value.values())
        if isinstance(value, list | tuple):
            return sum(count(v) for v in value)
        return 0

    own = {k: v for k, v in vars(module).items() if k not in ("_parameters", "_modules")}
    return count(own)


def least_seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """The shortest of several runs: what else the machine does can only make it longer."""
    work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def slope(lengths: Sequence[float], values: Sequence[float], last: int = 3) -> float:
    """The exponent p in values ~ length^p, from the last few points on logarithmic scales."""
    x, y = np.log(np.asarray(lengths[-last:], float)), np.log(np.asarray(values[-last:], float))
    return float(np.polyfit(x, y, 1)[0])


def off_the_line(lengths: Sequence[float], values: Sequence[float], last: int = 3) -> float:
    """How far the points that give the slope are from their line, at most: 0.1 for a tenth."""
    x, y = np.log(np.asarray(lengths[-last:], float)), np.log(np.asarray(values[-last:], float))
    distances = y - np.polyval(np.polyfit(x, y, 1), x)
    return float(np.exp(np.abs(distances).max()) - 1)


def growth_in_words(costs: Iterable[Cost], what: str) -> str:
    """A sentence on how time and `what` is kept grow, and on how well the times fit, per kind."""
    costs, lines, worst = list(costs), [], 0.0
    for kind, pair in slopes(costs).items():
        fast, kept = (round(number, 1) + 0.0 for number in pair)  # never -0.0
        own = [cost for cost in costs if cost.kind == kind]
        off = off_the_line([cost.length for cost in own], [cost.seconds for cost in own])
        worst = max(worst, off)
        lines.append(
            f"{kind}: time grows as length^{fast:.1f} (the times fit within {off:.0%}), "
            f"{what} as length^{kept:.1f}."
        )
    if worst > TOO_FAR:
        lines.append("Some times lie far from their line. Close other programs and measure again.")
    return "\n".join(lines)


def slopes(costs: Iterable[Cost]) -> dict[str, tuple[float, float]]:
    """For each kind of model the slopes of time and of what is kept."""
    costs = list(costs)
    found = {}
    for kind in dict.fromkeys(cost.kind for cost in costs):
        own = [cost for cost in costs if cost.kind == kind]
        lengths = [cost.length for cost in own]
        found[kind] = (
            slope(lengths, [cost.seconds for cost in own]),
            slope(lengths, [cost.kept for cost in own]),
        )
    return found
