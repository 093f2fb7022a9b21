"""How much memory the tensors of a computation use at one moment."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

Result = TypeVar("Result")


class _Watch(TorchDispatchMode):
    """Adds up the bytes of the storages that operators make, until these are freed."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.most = 0
        self.known: set[int] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        given = {id_of(leaf) for leaf in tree_leaves((args, kwargs)) if torch.is_tensor(leaf)}
        for leaf in tree_leaves(result):
            if torch.is_tensor(leaf) and id_of(leaf) not in self.known | given:
                self._count(leaf.untyped_storage())
        return result

    def _count(self, storage: torch.UntypedStorage) -> None:
        address, size = storage.data_ptr(), storage.nbytes()
        self.known.add(address)
        self.now += size
        self.most = max(self.most, self.now)
        weakref.finalize(storage, self._freed, address, size)

    def _freed(self, address: int, size: int) -> None:
        self.now -= size
        self.known.discard(address)


def id_of(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


@torch.no_grad()
def peak_bytes(work: Callable[..., Result], *given: Any) -> tuple[Result, int]:
    """What `work(*given)` returns, and the most bytes that new tensors used at one moment."""
    with _Watch() as watch:
        result = work(*given)
    return result, watch.most
