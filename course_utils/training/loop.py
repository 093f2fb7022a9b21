"""The trainer that every notebook uses: `fit` runs the epochs, shows them, and loses nothing."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.training.averaging import RunningMean
from course_utils.training.checkpoint import Checkpoint
from course_utils.training.devices import (
    choose_device,
    is_small,
    keep_freed_memory,
    make_optimiser,
    move,
    one_thread,
    seed_epoch,
)
from course_utils.training.history import History, close_epoch, closing_note, figures, restore
from course_utils.training.live_curve import LiveCurve

Batches = Callable[[int], Iterable[Any]]
Loss = Callable[[Any, Any], tuple[Tensor, int]]
Validate = Callable[[Any], dict[str, float]]


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
    average: int | None = None,
    checkpoint: str | Path | None = None,
    resume: History | None = None,
    max_seconds: float | None = None,
    pause_after: float | None = None,
    device: str | torch.device | None = None,
    show: bool = True,
) -> History:
    """Train `model`, and leave the best parameters in it.

    batches(epoch)      the batches of one epoch; `epoch` counts from 0
    loss(model, batch)  the mean loss as a scalar tensor, and the number of items it is the mean of
    validate(model)     a dict of floats with "loss" first; without it, the training loss decides
    optimiser           None for Adam, an optimiser, or a function of (parameters, lr=lr)
    schedule(step)      a factor for the learning rate; `step` counts from 1
    patience            stop after this many epochs without a better loss
    average             validate and keep the mean of the parameters over about this many last steps
    checkpoint          a name or a path: an interrupted run continues from there
    resume              the History of an interrupted run, to continue where it stopped
    max_seconds         stop after this time; the current epoch is closed and counted
    pause_after         begin no new epoch after this many seconds

    You can interrupt safely: the best parameters so far are loaded, and `resume` continues the run.
    """
    _refuse_wrong_calls(batches, epochs)
    keep_freed_memory()
    device = choose_device(device)
    model.to(device)
    optimiser = make_optimiser(optimiser, model, lr)
    store = Checkpoint(checkpoint, model, seed) if checkpoint is not None else None
    history = _begin(model, optimiser, resume, store, show)
    averaged = _averaged(model, average, history)
    view, clock = LiveCurve(epochs, show), _Clock(history.seconds, max_seconds, pause_after)
    run = _Run(model, loss, optimiser, schedule, clip, device, averaged, history, view, clock)
    with one_thread(only_if=device.type == "cpu" and is_small(model)):
        history.stopped = run.epochs(batches, validate, epochs, patience, seed, store)
    history.seconds, history.device = clock.seconds(), str(device)
    _leave_best_weights(model, history, store)
    view.finish(history.records, closing_note(history, is_saved=store is not None))
    return history


@dataclass(frozen=True)
class _Run:
    """A training run: what a step needs, and where its progress is kept and shown."""

    model: nn.Module
    loss: Loss
    optimiser: torch.optim.Optimizer
    schedule: Callable[[int], float] | None
    clip: float | None
    device: torch.device
    averaged: RunningMean | None
    history: History
    view: LiveCurve
    clock: _Clock

    def epochs(
        self,
        batches: Batches,
        validate: Validate | None,
        epochs: int,
        patience: int | None,
        seed: int,
        store: Checkpoint | None,
    ) -> str:
        """Run epoch after epoch until there is a reason to stop, and return the reason."""
        history = self.history
        try:
            while not (reason := _reason_to_stop(history, epochs, patience, self.clock)):
                epoch = len(history.records)
                seed_epoch(seed, epoch)
                train_loss, step = self.steps(batches(epoch), epoch)
                if not math.isfinite(train_loss):
                    return "diverged"
                record = {"epoch": float(epoch + 1), "train_loss": train_loss}
                judged = self.averaged.mean if self.averaged else self.model
                record |= _validated(validate, judged)
                record["seconds"] = self.clock.seconds()
                close_epoch(history, record, self.model, judged, self.optimiser, step)
                if store is not None:
                    store.save(history)
        except KeyboardInterrupt:
            return "interrupted"
        return reason

    def steps(self, batches: Iterable[Any], epoch: int) -> tuple[float, int]:
        """Run the steps of one epoch; return the mean loss and the number of the last step."""
        self.model.train()
        total, items, step = torch.zeros((), device=self.device), 0, self.history.step
        expected = len(batches) if isinstance(batches, Sized) else None
        for done, batch in enumerate(batches, start=1):
            step += 1
            self.set_learning_rate(step)
            loss, count = _loss_of(self.loss, self.model, move(batch, self.device))
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            if self.clip is not None:
                nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
            self.optimiser.step()
            if self.averaged:
                self.averaged.update(self.model, step)
            total += loss.detach() * count
            items += count
            self.view.step(
                self.history.records, done / expected if expected else 0.0, _note(self.history)
            )
            if self.clock.runs_out():
                break
        if items == 0:
            raise ValueError(
                f"batches({epoch}) returned no batch, so there is nothing to learn from."
            )
        return float(total) / items, step

    def set_learning_rate(self, step: int) -> None:
        if self.schedule is not None:
            for group in self.optimiser.param_groups:
                group["lr"] = group["initial_lr"] * self.schedule(step)


class _Clock:
    """How long a run takes, including the time before it was resumed, and when it must end."""

    def __init__(self, before: float, max_seconds: float | None, pause_after: float | None):
        self.before, self.max_seconds, self.pause_after = before, max_seconds, pause_after
        self.started = time.perf_counter()
        self.ran_out = False

    def seconds(self) -> float:
        return self.before + time.perf_counter() - self.started

    def runs_out(self) -> bool:
        """True if the current epoch has to be cut short."""
        self.ran_out = self._is_later_than(self.max_seconds)
        return self.ran_out

    def is_time_to_pause(self) -> bool:
        return self._is_later_than(self.pause_after)

    def _is_later_than(self, seconds: float | None) -> bool:
        return seconds is not None and time.perf_counter() - self.started > seconds


def _refuse_wrong_calls(batches: Any, epochs: int) -> None:
    if not callable(batches):
        raise TypeError(
            "batches must be a function that takes the epoch and returns its batches, "
            "for example `lambda epoch: list_of_batches`."
        )
    if epochs < 1:
        raise ValueError(f"epochs must be at least 1, but it is {epochs}.")


def _begin(
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    resume: History | None,
    store: Checkpoint | None,
    show: bool,
) -> History:
    """A new history, or the one to continue, with its parameters in the model."""
    history = History()
    state = resume.state if resume is not None else (store.load(show) if store else None)
    if state is not None:
        restore(state, history, model, optimiser)
    for group in optimiser.param_groups:
        group.setdefault("initial_lr", group["lr"])
    return history


def _averaged(model: nn.Module, span: int | None, history: History) -> RunningMean | None:
    """The running mean of the parameters, if one is wanted; a continued run gets back its own."""
    if span is None:
        return None
    averaged = RunningMean(model, span)
    if history.state is not None:
        averaged.mean.load_state_dict(history.state["judged"])
    return averaged


def _reason_to_stop(
    history: History, epochs: int, patience: int | None, clock: _Clock
) -> str | None:
    """Why no further epoch begins; None if one does."""
    if clock.ran_out:
        return "out of time"
    if len(history.records) >= epochs:
        return "finished"
    if patience is not None and len(history.records) - history.best_epoch >= patience:
        return "no better for a while"
    return "paused" if clock.is_time_to_pause() else None


def _note(history: History) -> str:
    return figures(history.records[-1]) if history.records else "first epoch"


def _loss_of(loss: Loss, model: nn.Module, batch: Any) -> tuple[Tensor, int]:
    answer = loss(model, batch)
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise TypeError(
            "loss(model, batch) must return two things: the loss and the number of items."
        )
    return answer[0], int(answer[1])


def _validated(validate: Validate | None, model: nn.Module) -> dict[str, float]:
    if validate is None:
        return {}
    model.eval()
    with torch.no_grad():
        found = validate(model)
    if "loss" not in found:
        raise KeyError(
            'validate(model) must return a dict with the key "loss", but that is missing.'
        )
    return {f"val_{key}": float(value) for key, value in found.items()}


def _leave_best_weights(model: nn.Module, history: History, store: Checkpoint | None) -> None:
    if history.state is not None:
        history.state["seconds"] = history.seconds
        model.load_state_dict(history.state["best"])
        if store is not None:
            store.save(history, now=True)
    model.eval()
