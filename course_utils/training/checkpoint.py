"""One file per run, so that an interrupted run can continue where it stopped."""

from __future__ import annotations

import functools
import hashlib
import math
import os
import time
import types
from pathlib import Path
from typing import Any

import torch
from torch import nn

from course_utils.training.history import History

DRIVE = Path("/content/drive/MyDrive")
SECONDS_BETWEEN = 5.0


def checkpoint_folder() -> Path:
    """Where checkpoints go: a mounted Google Drive if there is one, otherwise ./checkpoints."""
    return DRIVE / "attention_course" if DRIVE.is_dir() else Path("checkpoints")


class Checkpoint:
    """One file that holds a run; runs with other code, sizes or seeds are never mixed with it."""

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
            self._say(show, f"The checkpoint {self.path} can't be read. Training starts again.")
            return None
        if mark != self.fingerprint:
            self._say(
                show,
                f"The checkpoint {self.path} belongs to another model (different code, sizes or "
                "seed). Training starts again and replaces it.",
            )
            return None
        self._say(show, f"Continuing after epoch {len(run['records'])}, saved in {self.path}.")
        return run

    def save(self, history: History, now: bool = False) -> None:
        too_soon = not now and time.perf_counter() - self.last_saved < SECONDS_BETWEEN
        if too_soon or not self.writable:
            return
        self.last_saved = time.perf_counter()
        temporary = self.path.with_name(f"{self.path.name}.part")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            torch.save({"run": history.state, "fingerprint": self.fingerprint}, temporary)
            os.replace(temporary, self.path)
        except (OSError, RuntimeError) as problem:
            self.writable = False  # report it once, then train on without one
            self._say(True, f"No checkpoint could be written to {self.path}: {problem}.")

    @staticmethod
    def _say(show: bool, sentence: str) -> None:
        if show:
            print(sentence)


def fingerprint(model: nn.Module, seed: int) -> str:
    """A mark that changes with the model's sizes, its code or the seed.

    A student who corrects a forward pass and runs the cell again must not be shown the old run.
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
