"""Three ways to carry the past along: a recurrent state, a linear state, and attention to all of it.

One layer of PyTorch's serves all three; only the part that mixes positions is exchanged.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.language_model.model import InPlace, copy_weights
from course_utils.training.history import History
from course_utils.training.loop import fit

KINDS = ("RNN", "SSM", "transformer")
COLOURS = {"RNN": "#b4571a", "SSM": "#3d7a4a", "transformer": "#1f4e8c"}
MARKS = {"RNN": "s", "SSM": "^", "transformer": "o"}


# --- what mixes the positions ---------------------------------------------------------------


class Recurrence(nn.Module):
    """A GRU: h_t is a curved function of h_{t-1} and x_t, so step t has to wait for step t - 1."""

    def __init__(self, d_model: int):
        super().__init__()
        self.cell = nn.GRU(d_model, d_model, batch_first=True)
        self.reset()

    def reset(self) -> None:
        self.state = None

    def forward(self, x: Tensor) -> Tensor:
        return self.cell(x)[0]

    def step(self, x: Tensor) -> Tensor:
        """x [B, 1, D]: one more position, from the state that was kept."""
        y, self.state = self.cell(x, self.state)
        return y


class DiagonalSSM(nn.Module):
    """A state-space model: h_t = a * h_{t-1} + B x_t,  y_t = Re(C h_t).

    `a` holds one complex number below 1 for each of the N entries of the state: how fast it
    fades, and how fast it turns. Nothing bends on the way from h_{t-1} to h_t, so h_t is a sum
    over the past, h_t = sum_s a^(t-s) B x_s: a convolution, which needs no waiting.
    """

    def __init__(self, d_model: int, num_states: int = 64):
        super().__init__()
        # They forget within 2 to 500 steps at the start, spread evenly on a logarithmic scale.
        spans = torch.logspace(math.log10(2), math.log10(500), num_states)
        self.log_decay = nn.Parameter(torch.log(1 / spans))
        self.turn = nn.Parameter(torch.rand(num_states) * math.pi / 4)
        self.B = nn.Parameter(torch.randn(2, num_states, d_model) / (2 * d_model) ** 0.5)
        self.C = nn.Parameter(torch.randn(2, d_model, num_states) / num_states**0.5)
        self.reset()

    def reset(self) -> None:
        self.state = None

    def parts(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """log a [N], the input to the state [B, L, N], and C [D, N], all complex."""
        log_a = torch.complex(-self.log_decay.exp(), self.turn)
        # The less an entry forgets, the more adds up in it: scale what goes in to match.
        size = (1 - (2 * log_a.real).exp()).sqrt()
        entering = torch.complex(x @ self.B[0].T, x @ self.B[1].T) * size
        return log_a, entering, torch.complex(self.C[0], self.C[1])

    def forward(self, x: Tensor) -> Tensor:
        """All positions at once: the convolution, as a product of Fourier transforms."""
        L = x.shape[1]
        log_a, entering, C = self.parts(x)
        powers = (log_a[None] * torch.arange(L, device=x.device)[:, None]).exp()
        both = torch.fft.fft(powers, 2 * L, dim=0) * torch.fft.fft(entering, 2 * L, dim=1)
        states = torch.fft.ifft(both, dim=1)[:, :L]
        return (states @ C.T).real

    def step(self, x: Tensor) -> Tensor:
        """x [B, 1, D]: one more position, from the state that was kept."""
        log_a, entering, C = self.parts(x)
        before = 0 if self.state is None else self.state * log_a.exp()
        self.state = before + entering[:, 0]
        return (self.state @ C.T).real[:, None]


class KeptWeights(nn.Module):
    """PyTorch's attention, the way that stores the weights [B, num_heads, L, L]."""

    batch_first = False  # tells the layer not to take the short cut that goes past `forward`

    def __init__(self, attention: nn.MultiheadAttention):
        super().__init__()
        self.attention = attention

    def forward(self, query, key, value, attn_mask=None, **others):
        return self.attention(query, key, value, attn_mask=attn_mask, need_weights=True)


def make_layer(kind: str, d_model: int = 64, num_heads: int = 4) -> nn.TransformerEncoderLayer:
    """A transformer layer, with its attention or with another mixing part in its place."""
    if kind not in KINDS:
        raise ValueError(f"A sequence model is one of {', '.join(KINDS)}, not {kind!r}.")
    layer = nn.TransformerEncoderLayer(
        d_model, num_heads, 2 * d_model, 0.0, "gelu", batch_first=True, norm_first=True
    )
    if kind == "RNN":
        layer.self_attn = InPlace(Recurrence(d_model))
    elif kind == "SSM":
        layer.self_attn = InPlace(DiagonalSSM(d_model))
    return layer


def run_layer(layer: nn.Module, x: Tensor) -> Tensor:
    """x [B, L, D] through a layer in which no position sees a later one."""
    mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device)
    return layer(x, src_mask=mask, is_causal=True)


# --- the recall task ------------------------------------------------------------------------


@dataclass(frozen=True)
class Recall:
    """Pairs of a key and a value, one a step; then keys alone: which value came with each?"""

    num_keys: int = 64
    num_values: int = 16

    def batch(self, pairs: int, size: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
        """keys [B, 2n], values [B, 2n] (num_values where asked), answers [B, n]."""
        if not 1 <= pairs <= self.num_keys:
            raise ValueError(f"There are {self.num_keys} keys, so {pairs} pairs do not work.")
        generator = torch.Generator().manual_seed(seed)
        keys = torch.rand(size, self.num_keys, generator=generator).argsort(1)[:, :pairs]
        values = torch.randint(self.num_values, (size, pairs), generator=generator)
        order = torch.rand(size, pairs, generator=generator).argsort(1)
        asked, answers = keys.gather(1, order), values.gather(1, order)
        unknown = torch.full_like(values, self.num_values)
        return torch.cat([keys, asked], 1), torch.cat([values, unknown], 1), answers


class SequenceModel(nn.Module):
    """Keys and values in, the value that belongs to each asked key out. It has no positions."""

    def __init__(self, kind: str, task: Recall, d_model: int = 64, num_layers: int = 2):
        super().__init__()
        self.kind = kind
        self.keys = nn.Embedding(task.num_keys, d_model)
        self.values = nn.Embedding(task.num_values + 1, d_model)
        self.layers = nn.ModuleList(make_layer(kind, d_model) for _ in range(num_layers))
        self.norm = nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, task.num_values)

    def forward(self, keys: Tensor, values: Tensor) -> Tensor:
        x = self.keys(keys) + self.values(values)
        for layer in self.layers:
            x = run_layer(layer, x)
        return self.output(self.norm(x[:, keys.shape[1] // 2 :]))

    def numbers_kept(self, positions: int) -> int:
        """How many numbers it has to carry along to go on after so many positions."""
        d_model, layers = self.output.in_features, len(self.layers)
        if self.kind == "RNN":
            return layers * d_model
        if self.kind == "SSM":
            return layers * 2 * self.layers[0].self_attn.attend.turn.numel()
        return layers * 2 * d_model * positions


def train_recall(
    kind: str, task: Recall, *, steps: int, most_pairs: int = 16, seed: int = 0, **how
) -> tuple[SequenceModel, History]:
    """A new model, trained on 2 to `most_pairs` pairs. Ten times it looks how far it has come."""
    torch.manual_seed(seed)
    model = SequenceModel(kind, task)
    epochs = min(10, steps)

    def batches(epoch: int) -> list:
        first = 100_000 * (seed + 1) + epoch * (steps // epochs)
        draw = np.random.default_rng(first)
        return [
            task.batch(int(draw.integers(2, most_pairs + 1)), 64, first + number)
            for number in range(steps // epochs)
        ]

    def loss(model: SequenceModel, batch) -> tuple[Tensor, int]:
        keys, values, answers = batch
        return F.cross_entropy(model(keys, values).flatten(0, 1), answers.flatten()), len(keys)

    history = fit(model, batches, loss, epochs=epochs, lr=2e-3, seed=seed, **how)
    return model, history


@torch.no_grad()
def recall_accuracy(model: SequenceModel, task: Recall, pairs: int, size: int = 200) -> float:
    """The share of right answers on sequences that were not trained on."""
    keys, values, answers = task.batch(pairs, size, seed=7)
    device = next(model.parameters()).device
    found = model.eval()(keys.to(device), values.to(device)).argmax(-1).cpu()
    return float((found == answers).float().mean())


# --- what it costs --------------------------------------------------------------------------


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
            cached = attention(d_model, layer.self_attn.num_heads)
            copy_weights(layer.self_attn, cached)
            mixer, step = cached, InPlace(cached)
        else:
            mixer = layer.self_attn.attend
            step = InPlace(mixer.step)
        layer.self_attn = step
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


def plot_costs(costs: Sequence[Cost], title: str, kept_label: str, kept_unit: float = 1.0):
    """Time and what is kept against length, on logarithmic scales, each line with its slope."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullLocator

    figure, axes = plt.subplots(1, 2, figsize=(9.4, 3.9), layout="constrained")
    found = slopes(costs)
    for kind, both in found.items():
        own = [cost for cost in costs if cost.kind == kind]
        family, fused = kind.partition(",")[0], "," in kind
        lengths = [cost.length for cost in own]
        rows = ([c.seconds * 1e3 for c in own], [c.kept / kept_unit for c in own])
        for axis, values, steepness in zip(axes, rows, both):
            axis.loglog(
                lengths,
                values,
                ":" if fused else "-",
                marker=MARKS[family],
                mfc="white" if fused else None,
                ms=5,
                color=COLOURS[family],
                label=f"{kind} (slope {round(steepness, 1) + 0.0:.1f})",
            )
    for axis, label in zip(axes, ("milliseconds", kept_label)):
        axis.set(xlabel="length", ylabel=label)
        axis.set_xticks(lengths, [str(length) for length in lengths])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_locator(NullLocator())
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(
            frameon=False, fontsize=8, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0)
        )
    figure.suptitle(title, fontsize=10)
    plt.close(figure)
    return figure


def draw_recall(pairs: Sequence[int], accuracy: dict[str, list[float]], task: Recall, trained=16):
    """Right answers against the number of pairs: a figure, and it in words."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for kind, shares in accuracy.items():
        axes.plot(pairs, shares, marker=MARKS[kind], color=COLOURS[kind], label=kind)
    axes.axhline(1 / task.num_values, color="grey", ls=":", lw=1)
    axes.axvline(trained, color="grey", lw=0.6)
    axes.text(1.03 * trained, 0.55, "more than trained", fontsize=8, color="#555555")
    axes.set_xscale("log", base=2)
    axes.set_xticks(pairs, [str(n) for n in pairs])
    axes.set(xlabel="pairs to remember", ylabel="share of right answers", ylim=(0, 1.05))
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.spines[["top", "right"]].set_visible(False)
    plt.close(figure)
    rows = (
        f"{kind}: " + ", ".join(f"{n} pairs {share:.0%}" for n, share in zip(pairs, shares)) + "."
        for kind, shares in accuracy.items()
    )
    return figure, "Share of right answers by number of pairs. " + " ".join(rows)
