"""What a training run needs from the machine: a device, threads, memory, a fast optimiser."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

# Below this many parameters, a second thread costs more to wake than it saves.
SMALL = 200_000


def choose_device(device: str | torch.device | None = None) -> torch.device:
    """The device asked for, or the best one here: CUDA, then Apple's MPS, then the CPU."""
    if device is not None:
        return torch.device(device)
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


@contextlib.contextmanager
def one_thread(only_if: bool = True) -> Iterator[None]:
    """Inside the block, torch uses one thread; afterwards, as many as before."""
    before = torch.get_num_threads()
    if only_if:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def is_small(model: nn.Module) -> bool:
    """True for a model that is trained fastest on one thread."""
    return sum(parameter.numel() for parameter in model.parameters()) < SMALL


def seed_everything(seed: int) -> None:
    """Seed Python, NumPy and torch. Call it before making a model, so that runs can be repeated."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def seed_epoch(seed: int, epoch: int) -> None:
    """Give each epoch its own seed, so that a resumed run draws what an unbroken one draws."""
    seed_everything((seed * 1_000_003 + epoch) % 2**63)


def adam(parameters: Iterable, lr: float, **options: Any) -> torch.optim.Optimizer:
    """Adam, which updates all parameters in one call if torch and the device can do that."""
    parameters = list(parameters)
    # Other devices would refuse at the first step only.
    fused = all(parameter.device.type in ("cpu", "cuda") for parameter in parameters)
    try:
        return torch.optim.Adam(parameters, lr=lr, fused=fused, **options)
    except RuntimeError:  # an old torch, without the fused kernel for this device
        return torch.optim.Adam(parameters, lr=lr, **options)


def make_optimiser(
    optimiser: torch.optim.Optimizer | Callable[..., torch.optim.Optimizer] | None,
    model: nn.Module,
    lr: float,
) -> torch.optim.Optimizer:
    """The given optimiser, or a new one for the parameters to be trained."""
    if isinstance(optimiser, torch.optim.Optimizer):
        return optimiser
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not parameters:
        raise ValueError("The model has no parameters to train.")
    return (optimiser or adam)(parameters, lr=lr)


@functools.cache
def keep_freed_memory() -> bool:
    """Ask glibc to keep freed blocks for the next batch; True if it does.

    By default it returns every large block to the system. Training needs the same blocks again in
    the next step, and spends a fifth of its time getting them back.
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
