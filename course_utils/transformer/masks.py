"""Looks at a mask before it is used, and explains in a sentence what is wrong with it."""

import torch
from torch import Tensor


def check_mask(mask: Tensor | None, queries: int, keys: int, batch: int | None = None) -> None:
    """Raise an error that names the sizes, unless `mask` fits `queries` x `keys` scores.

    A mask is a tensor of True (allowed) and False (not allowed), of the shape [queries, keys], or
    with a `batch` also [batch, queries, keys] or [batch, 1, keys]. Every row must allow
    at least one key: the softmax of nothing is not a number.
    """
    if mask is None:
        return
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        kind = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(
            f"A mask holds True where attention is allowed (torch.bool), but this one is {kind}. "
            "To turn numbers into a mask, compare them: mask == 1."
        )
    allowed: list[tuple[int, ...]] = [(queries, keys)]
    if batch is not None:
        allowed += [(batch, queries, keys), (batch, 1, keys)]
    if tuple(mask.shape) not in allowed:
        raise ValueError(
            f"The mask has the shape {list(mask.shape)}, but for {queries} queries and {keys} keys "
            f"it should be {' or '.join(str(list(shape)) for shape in allowed)}."
        )
    empty = ~mask.any(dim=-1)
    if bool(empty.any()):
        place = [int(n) for n in empty.nonzero()[0]]
        raise ValueError(
            f"Row {place[-1]} of the mask{f' of sequence {place[0]}' if len(place) > 1 else ''} "
            f"allows none of its {keys} keys, and the softmax of nothing is not a number (NaN). "
            "It must allow at least one key."
        )
