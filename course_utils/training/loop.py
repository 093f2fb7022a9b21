"""The trainer that every notebook uses: `fit` runs the epochs, shows them, and loses nothing."""

from __future__ import annotations

import copy
import ctypes
import functools
import hashlib
import math
import os
import random
import time
import types
from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from course_utils.live_curve import TRAIN_COLOUR, VALID_COLOUR, LiveCurve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRIVE = Path("/content/drive/MyDrive")
CHECKPOINT_SECONDS = 5.0

Batches = Callable[[int], Iterable[Any]]
Loss = Callable[[nn.Module, Any], tuple[Tensor, int]]
Validate = Callable[[nn.Module], dict[str, float]]


@dataclass
class History:
    """What happened in a training run: one record an epoch, and which epoch was best."""

    records: list[dict[str, float]] = field(default_factory=list)
    best_epoch: int = 0
    best_loss: float = math.inf
    stopped: str = "finished"
    seconds: float = 0.0
    device: str = "cpu"
    # Where the run stands: weights and optimiser after the last whole epoch, and the best weights.
    state: dict[str, Any] | None = field(default=None, repr=False)

    @property
    def best(self) -> dict[str, float]:
        """The record of the best epoch."""
        for record in self.records:
            if record["epoch"] == self.best_epoch:
                return record
        raise ValueError("No epoch was finished, so there is no best one. Train first.")

    def column(self, name: str) -> list[float]:
        """One figure over the epochs, such as `train_loss`, `val_loss` or `seconds`."""
        known = sorted({key for record in self.records for key in record})
        if name not in known:
            raise KeyError(f"There is no figure called {name!r}. There are: {', '.join(known)}.")
        return [record.get(name, math.nan) for record in self.records]

    def plot(self) -> Figure:
        """The loss curves, and beside them what else the validation measured."""
        import matplotlib.pyplot as plt

        if not self.records:
            raise ValueError("No epoch was finished, so there is nothing to plot. Train first.")
        ignored = {"epoch", "seconds", "train_loss", "val_loss"}
        others = [key for key in self.records[-1] if key not in ignored]
        figure, axes = plt.subplots(
            1, 1 + bool(others), figsize=(4.4 * (1 + bool(others)), 3.0), squeeze=False
        )
        epochs = self.column("epoch")
        loss_axis = axes[0, 0]
        loss_axis.plot(epochs, self.column("train_loss"), color=TRAIN_COLOUR, label="training")
        if "val_loss" in self.records[-1]:
            loss_axis.plot(
                epochs, self.column("val_loss"), "--", color=VALID_COLOUR, label="validation"
            )
        loss_axis.set(xlabel="epoch", ylabel="loss")
        loss_axis.set_ylim(bottom=min(0.0, loss_axis.get_ylim()[0]))
        loss_axis.legend(frameon=False)
        if others:
            for key in others:
                axes[0, 1].plot(epochs, self.column(key), label=key.removeprefix("val_"))
            axes[0, 1].set(xlabel="epoch")
            axes[0, 1].legend(frameon=False)
        for axis in axes.flat:
            axis.spines[["top", "right"]].set_visible(False)
            axis.xaxis.get_major_locator().set_params(integer=True)
        figure.tight_layout()
        # A figure handed back is shown once by the notebook, not a second time by pyplot.
        plt.close(figure)
        return figure

    def __str__(self) -> str:
        if not self.records:
            return f"No epoch finished ({self.stopped})."
        figures = ", ".join(
            f"{key} {value:.4g}"
            for key, value in self.best.items()
            if key not in ("epoch", "seconds")
        )
        count = f"{len(self.records)} epoch{'' if len(self.records) == 1 else 's'}"
        return (
            f"{count} in {self.seconds:.1f} s on {self.device}, {self.stopped}. "
            f"Best epoch {self.best_epoch}: {figures}."
        )

    __repr__ = __str__


def fit(
    model: nn.Module,
    batches: Batches,
    loss: Loss,
    *,
    epochs: int,
    optimiser: torch.optim.Optimizer | Callable[..., torch.optim.Optimizer] | None = None,
    lr: float = 1e-3,
    schedule: Callable[[int], float] | None = None,
    validate: Validate | None = None,
    seed: int = 0,
    patience: int | None = None,
    clip: float | None = 1.0,
    checkpoint: str | Path | None = None,
    resume: History | None = None,
    max_seconds: float | None = None,
    device: str | torch.device | None = None,
    show: bool = True,
) -> History:
    """Train `model`, and leave the best weights in it.

    batches(epoch)      the batches of one epoch; `epoch` counts from 0
    loss(model, batch)  the mean loss as a scalar tensor, and over how many items it is the mean
    validate(model)     a dict of floats with "loss" first; without it the training loss decides
    optimiser           None for Adam, an optimiser, or what makes one from (parameters, lr=lr)
    schedule(step)      a factor on the learning rate; `step` counts from 1
    patience            stop after this many epochs without a better loss
    checkpoint          a name or a path: a run that was cut off goes on from there
    resume              the History of an interrupted run: go on where it stopped
    max_seconds         stop after this time; the epoch under way is closed and counted

    The interrupt button is safe: the best weights so far are loaded, and `resume` goes on.
    """
    if not callable(batches):
        raise TypeError(
            "batches must be a function of the epoch that gives the batches, "
            "for example `lambda epoch: list_of_batches`."
        )
    if epochs < 1:
        raise ValueError(f"epochs must be at least 1, but it is {epochs}.")
    started = time.perf_counter()
    keep_freed_memory()
    device = choose_device(device)
    model.to(device)
    optimiser = _make_optimiser(optimiser, model, lr)
    history = History(device=str(device))
    store = _Checkpoint(checkpoint, model, seed) if checkpoint is not None else None
    state = resume.state if resume is not None else (store.load(show) if store else None)
    if state is not None:
        _restore(state, model, optimiser, history)
    base_rates = [group.setdefault("initial_lr", group["lr"]) for group in optimiser.param_groups]
    before = history.seconds
    view = LiveCurve(epochs, show)
    step = history.state["step"] if history.state else 0
    history.stopped = "finished"
    try:
        while len(history.records) < epochs and not _patience_is_over(history, patience):
            epoch = len(history.records)
            _seed_epoch(seed, epoch)
            model.train()
            total, items = torch.zeros((), device=device), 0
            stream = batches(epoch)
            expected = len(stream) if isinstance(stream, Sized) else None
            for done, batch in enumerate(stream, start=1):
                step += 1
                if schedule is not None:
                    for group, rate in zip(optimiser.param_groups, base_rates, strict=True):
                        group["lr"] = rate * schedule(step)
                batch_loss, count = _loss_of(loss, model, move(batch, device))
                optimiser.zero_grad(set_to_none=True)
                batch_loss.backward()
                if clip is not None:
                    nn.utils.clip_grad_norm_(model.parameters(), clip)
                optimiser.step()
                total += batch_loss.detach() * count
                items += count
                view.step(history.records, done / expected if expected else 0.0, _note(history))
                if max_seconds is not None and time.perf_counter() - started > max_seconds:
                    history.stopped = "out of time"
                    break
            if items == 0:
                raise ValueError(f"batches({epoch}) gave no batch, so there is nothing to learn.")
            train_loss = float(total) / items
            if not math.isfinite(train_loss):
                history.stopped = "diverged"
                break
            record = {"epoch": float(epoch + 1), "train_loss": train_loss}
            if validate is not None:
                record |= {f"val_{key}": float(v) for key, v in _validated(validate, model).items()}
            record["seconds"] = before + time.perf_counter() - started
            _close_epoch(history, record, model, optimiser, step)
            if store is not None:
                store.save(history)
            if history.stopped == "out of time":
                break
        else:
            if len(history.records) < epochs:
                history.stopped = "no better for a while"
    except KeyboardInterrupt:
        history.stopped = "interrupted"
    history.seconds = before + time.perf_counter() - started
    if history.state is not None:
        history.state["seconds"] = history.seconds
        model.load_state_dict(history.state["best"])
        if store is not None:
            store.save(history, now=True)
    model.eval()
    view.finish(history.records, _closing_note(history))
    return history


def choose_device(device: str | torch.device | None = None) -> torch.device:
    """The device asked for, or the best one here: CUDA, then Apple's MPS, then the CPU."""
    if device is not None:
        return torch.device(device)
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def seed_everything(seed: int) -> None:
    """Seed Python, NumPy and torch. Call it before making a model, so that it repeats."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def adam(parameters: Iterable, lr: float, **options: Any) -> torch.optim.Optimizer:
    """Adam, with all parameters updated by one call where torch and the device can do that."""
    parameters = list(parameters)
    try:
        return torch.optim.Adam(parameters, lr=lr, fused=True, **options)
    except RuntimeError:  # an old torch, or a device without the fused kernel
        return torch.optim.Adam(parameters, lr=lr, **options)


@functools.cache
def keep_freed_memory() -> bool:
    """Ask glibc to keep freed blocks for the next batch; True if it does.

    By default it returns every large block to the system, and training, which needs the same
    blocks again in the next step, spends a fifth of its time on getting them back.
    """
    largest_mapped, trim, top_up = -3, -1, -2  # M_MMAP_THRESHOLD and so on, from malloc.h
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):  # not Linux, or another C library
        return False
    wishes = {largest_mapped: 2**30, trim: 2**31 - 1, top_up: 2**26}
    return all([mallopt(name, value) for name, value in wishes.items()])


def move(batch: Any, device: torch.device) -> Any:
    """The same batch with its tensors on the device; tuples, lists and dicts are followed."""
    if isinstance(batch, Tensor):
        return batch.to(device)
    if isinstance(batch, dict):
        return {key: move(value, device) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(move(value, device) for value in batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(move(value, device) for value in batch)
    return batch


def checkpoint_folder() -> Path:
    """Where checkpoints go: a mounted Google Drive if there is one, else ./checkpoints."""
    return DRIVE / "attention_course" if DRIVE.is_dir() else Path("checkpoints")


def _seed_epoch(seed: int, epoch: int) -> None:
    # Each epoch has a seed of its own, so a run that goes on draws what it would have drawn.
    seed_everything((seed * 1_000_003 + epoch) % 2**63)


def _make_optimiser(optimiser: Any, model: nn.Module, lr: float) -> torch.optim.Optimizer:
    if isinstance(optimiser, torch.optim.Optimizer):
        return optimiser
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not parameters:
        raise ValueError("The model has no parameters to train.")
    return (optimiser or adam)(parameters, lr=lr)


def _loss_of(loss: Loss, model: nn.Module, batch: Any) -> tuple[Tensor, int]:
    answer = loss(model, batch)
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise TypeError("loss(model, batch) must return two things: the loss and a count of items.")
    return answer[0], int(answer[1])


def _validated(validate: Validate, model: nn.Module) -> dict[str, float]:
    model.eval()
    with torch.no_grad():
        figures = validate(model)
    if "loss" not in figures:
        raise KeyError('validate(model) must return a dict with a "loss", but it has none.')
    return figures


def _close_epoch(
    history: History, record: dict[str, float], model: nn.Module, optimiser: Any, step: int
) -> None:
    """Keep the record and a snapshot; an interrupt before the last line leaves the old state."""
    weights = _snapshot(model)
    decisive = record.get("val_loss", record["train_loss"])
    better = decisive < history.best_loss or history.state is None
    state = {
        "model": weights,
        "optimiser": copy.deepcopy(optimiser.state_dict()),
        "best": weights if better else history.state["best"],
        "best_epoch": int(record["epoch"]) if better else history.best_epoch,
        "best_loss": decisive if better else history.best_loss,
        "records": [*history.records, record],
        "step": step,
        "seconds": record["seconds"],
    }
    _adopt(history, state)


def _adopt(history: History, state: dict[str, Any]) -> None:
    history.state = state
    history.records = state["records"]
    history.best_epoch = state["best_epoch"]
    history.best_loss = state["best_loss"]
    history.seconds = state["seconds"]


def _restore(state: dict[str, Any], model: nn.Module, optimiser: Any, history: History) -> None:
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    _adopt(history, dict(state))


def _snapshot(model: nn.Module) -> dict[str, Tensor]:
    return {key: value.detach().cpu().clone() for key, value in model.state_dict().items()}


def _patience_is_over(history: History, patience: int | None) -> bool:
    return patience is not None and len(history.records) - history.best_epoch >= patience


def _note(history: History) -> str:
    if not history.records:
        return "first epoch"
    last = history.records[-1]
    return ", ".join(
        f"{key} {value:.4g}" for key, value in last.items() if key not in ("epoch", "seconds")
    )


def _closing_note(history: History) -> str:
    note = str(history)
    if history.stopped == "interrupted" and history.records:
        note += " To go on: fit(..., resume=history)."
    if history.stopped == "diverged":
        note += " The loss is no longer a number: try a smaller learning rate."
    return note


class _Checkpoint:
    """One file that holds a run; a run of other code, sizes or seed is never mixed with it."""

    def __init__(self, name: str | Path, model: nn.Module, seed: int) -> None:
        path = Path(name)
        plain_name = path.parent == Path(".") and not path.suffix
        self.path = checkpoint_folder() / f"{path}.pt" if plain_name else path
        self.fingerprint = fingerprint(model, seed)
        self.last_saved = -math.inf
        self.writable = True

    def load(self, show: bool) -> dict[str, Any] | None:
        if not self.path.exists():
            return None
        try:
            saved = torch.load(self.path, map_location="cpu", weights_only=True)
            run, mark = saved["run"], saved["fingerprint"]
        except Exception:
            self._say(show, f"The checkpoint {self.path} can't be read. Training starts anew.")
            return None
        if mark != self.fingerprint:
            self._say(
                show,
                f"The checkpoint {self.path} belongs to another model (other code, sizes or "
                "seed). Training starts anew and replaces it.",
            )
            return None
        self._say(show, f"Going on from epoch {len(run['records'])}, kept in {self.path}.")
        return run

    def save(self, history: History, now: bool = False) -> None:
        too_soon = not now and time.perf_counter() - self.last_saved < CHECKPOINT_SECONDS
        if too_soon or not self.writable:
            return
        self.last_saved = time.perf_counter()
        temporary = self.path.with_name(f"{self.path.name}.part")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            torch.save({"run": history.state, "fingerprint": self.fingerprint}, temporary)
            os.replace(temporary, self.path)
        except (OSError, RuntimeError) as problem:
            self.writable = False  # say it once, then train on without
            self._say(True, f"No checkpoint could be written to {self.path}: {problem}.")

    @staticmethod
    def _say(show: bool, sentence: str) -> None:
        if show:
            print(sentence)


def fingerprint(model: nn.Module, seed: int) -> str:
    """A mark that changes with the model's sizes, its code or the seed.

    A student who mends a forward pass and runs the cell again must not be shown the old run.
    """
    mark = hashlib.sha256(str(seed).encode())
    for name, value in model.state_dict().items():
        mark.update(f"{name} {tuple(value.shape)}".encode())
    for module in model.modules():
        mark.update(_code_of(type(module).forward))
        for name, value in sorted(vars(module).items()):
            if isinstance(value, (types.FunctionType, functools.partial)):
                mark.update(name.encode() + _code_of(value))
            elif isinstance(value, (str, int, float, bool)) and name != "training":
                mark.update(f"{name}={value}".encode())
    return mark.hexdigest()


def _code_of(function: Any) -> bytes:
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None)
    if code is None:
        return repr(type(function)).encode()
    parts = [code.co_code, repr(code.co_names).encode()]
    for constant in code.co_consts:
        nested = isinstance(constant, types.CodeType)
        parts.append(constant.co_code if nested else repr(constant).encode())
    for cell in function.__closure__ or ():
        if isinstance(cell.cell_contents, types.FunctionType):
            parts.append(_code_of(cell.cell_contents))
    return b"".join(parts)
