"""What happened in a training run, epoch by epoch, and from where it can continue."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn, optim

from course_utils.figures.picture import Picture
from course_utils.training.live_curve import history_picture


@dataclass
class History:
    """What happened in a training run: one record per epoch, and which epoch was best."""

    records: list[dict[str, float]] = field(default_factory=list)
    best_epoch: int = 0
    best_loss: float = math.inf
    stopped: str = "finished"
    seconds: float = 0.0
    device: str = "cpu"
    # Parameters and optimiser after the last whole epoch, and the best parameters so far.
    state: dict[str, Any] | None = field(default=None, repr=False)

    @property
    def step(self) -> int:
        """How many training steps the finished epochs took."""
        return self.state["step"] if self.state else 0

    @property
    def best(self) -> dict[str, float]:
        """The record of the best epoch."""
        for record in self.records:
            if record["epoch"] == self.best_epoch:
                return record
        raise ValueError("No epoch has finished, so there is no best one yet. Train first.")

    def column(self, name: str) -> list[float]:
        """One figure over the epochs, such as `train_loss`, `val_loss` or `seconds`."""
        known = sorted({key for record in self.records for key in record})
        if name not in known:
            raise KeyError(f"There is no figure called {name!r}, only {', '.join(known)}.")
        return [record.get(name, math.nan) for record in self.records]

    def plot(self) -> Picture:
        """The loss curves, and beside them anything else that the validation measured."""
        if not self.records:
            raise ValueError("No epoch has finished, so there is nothing to plot yet. Train first.")
        return history_picture(self.records)

    def __str__(self) -> str:
        if not self.records:
            return f"No epoch finished ({self.stopped})."
        count = f"{len(self.records)} epoch{'' if len(self.records) == 1 else 's'}"
        return (
            f"{count} in {self.seconds:.1f} s on {self.device}, {self.stopped}. "
            f"Best epoch {self.best_epoch}: {figures(self.best)}."
        )

    __repr__ = __str__


def restore(state: dict[str, Any], history: History, model: nn.Module, optimiser: optim.Optimizer):
    """Put a run back into the state it had after its last whole epoch."""
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    _adopt(history, dict(state))


def close_epoch(
    history: History,
    record: dict[str, float],
    model: nn.Module,
    judged: nn.Module,
    optimiser: Any,
    step: int,
) -> None:
    """Keep the record and a snapshot; an interrupt before the last line leaves the old state.

    `judged` is the model that was validated: the one in training, or the averaged one.
    """
    weights = _snapshot(model)
    kept = weights if judged is model else _snapshot(judged)
    decisive = record.get("val_loss", record["train_loss"])
    best = history.state["best"] if history.state else None
    better = best is None or decisive < history.best_loss
    state = {
        "model": weights,
        "judged": kept,
        "optimiser": copy.deepcopy(optimiser.state_dict()),
        "best": kept if better else best,
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


def _snapshot(model: nn.Module) -> dict[str, Tensor]:
    return {key: value.detach().cpu().clone() for key, value in model.state_dict().items()}


def figures(record: dict[str, float]) -> str:
    """The figures of one epoch in one line."""
    return ", ".join(
        f"{key} {value:.4g}" for key, value in record.items() if key not in ("epoch", "seconds")
    )


def closing_note(history: History, is_saved: bool = False) -> str:
    """The text under the curve of a run that has ended; a saved run continues by itself."""
    note = str(history)
    if history.stopped == "interrupted" and history.records:
        note += " The model has the best parameters so far."
        if is_saved:
            note += " Run the cell again to continue."
    if history.stopped == "diverged":
        note += " The loss is no longer a number: try a smaller learning rate."
    return note
