"""Watches which products are made while a student's function runs, by the shapes that arrive.

A product counts as one of two matrices when many rows meet many columns along a shared axis:
`Q @ K.T`, the same by `einsum`, `linear`, `bmm`, or by broadcasting and a sum. A vector with a
matrix, two vectors, and an outer product do not. Names mean nothing here: `x @ W` and `Q @ K.T`
are spelled alike, and `einsum` becomes whatever PyTorch makes of it.
"""

import contextlib
import math
from unittest import mock

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

MATRIX_PRODUCTS = {"mm": (0, 1), "addmm": (1, 2), "_addmm_activation": (1, 2), "matmul": (0, 1)}
BATCHED_PRODUCTS = {"bmm": (0, 1), "baddbmm": (1, 2), "addbmm": (1, 2)}
TRANSPOSED_PRODUCTS = {"linear", "cdist", "_cdist_forward", "_euclidean_dist"}
# Sums and differences are here because |q - k|^2 holds the product of q and k.
ELEMENTWISE = {"mul", "div", "add", "sub", "mul_", "div_", "add_", "sub_", "rsub", "true_divide"}
_array = np.asarray  # kept here: np.asarray itself is replaced while the watch is on
NUMPY_ELEMENTWISE = {"multiply", "true_divide", "divide", "add", "subtract"}


class ProductWatch:
    """A `with` block; afterwards `products` has a pair (rows, columns) for each product seen."""

    def __init__(self):
        self.products: list[tuple[int, int]] = []
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> "ProductWatch":
        self._stack.enter_context(_TorchWatch(self))
        for patch in _numpy_patches(self):
            self._stack.enter_context(patch)
        return self

    def __exit__(self, *problem):
        return self._stack.__exit__(*problem)

    def note(self, rows: int, columns: int, shared: int) -> None:
        if shared > 1:
            self.products.append((int(rows), int(columns)))

    @property
    def largest(self) -> tuple[int, int]:
        """The pair whose smaller side is largest: (1, n) and (n, 1) are vector products."""
        return max(self.products, key=min, default=(0, 0))


# ---- tensors ------------------------------------------------------------------


class _TorchWatch(TorchDispatchMode):
    def __init__(self, watch: ProductWatch):
        super().__init__()
        self.watch = watch

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Asking the compiler to keep out would import all of it: a second in every check.
        return False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function._schema.name.removeprefix("aten::")
        tensors = [a for a in args if isinstance(a, torch.Tensor)]
        if name in MATRIX_PRODUCTS:
            _note_matrices(self.watch, *(args[i] for i in MATRIX_PRODUCTS[name]))
        elif name in BATCHED_PRODUCTS:
            _note_batched(self.watch, *(args[i] for i in BATCHED_PRODUCTS[name]))
        elif name in TRANSPOSED_PRODUCTS:
            left, right = tensors[:2]
            rows = math.prod(left.shape[:-1])
            self.watch.note(rows, math.prod(right.shape[:-1]), left.shape[-1])
        elif "convolution" in name:
            signal, kernel = tensors[:2]
            positions = signal.shape[0] * math.prod(signal.shape[2:])
            self.watch.note(positions, kernel.shape[0], math.prod(kernel.shape[1:]))
        elif "scaled_dot_product" in name:
            query, key = tensors[:2]
            self.watch.note(query.shape[-2], key.shape[-2], query.shape[-1])
        elif name in ELEMENTWISE and len(tensors) == 2:
            _note_broadcast(self.watch, *tensors)
        elif name in ("addcmul", "addcdiv", "addcmul_", "addcdiv_"):
            _note_broadcast(self.watch, *tensors[1:3])
        return function(*args, **(kwargs or {}))


def _note_matrices(watch: ProductWatch, left, right) -> None:
    if left.ndim > 2 or right.ndim > 2:
        _note_batched(watch, left, right)
    elif left.ndim == 2 and right.ndim == 2:
        watch.note(left.shape[0], right.shape[1], left.shape[1])


def _note_batched(watch: ProductWatch, left, right) -> None:
    """A stack of products; a matrix that is only repeated makes one large product of them."""
    rows = left.shape[-2] if left.ndim > 1 else 1
    columns = right.shape[-1] if right.ndim > 1 else 1
    if _is_repeated(left):
        columns *= math.prod(right.shape[:-2])
    elif _is_repeated(right):
        rows *= math.prod(left.shape[:-2])
    watch.note(rows, columns, left.shape[-1])


def _is_repeated(stack) -> bool:
    """Whether all matrices of a stack are one and the same."""
    if stack.ndim <= 2:
        return True
    if math.prod(stack.shape[:-2]) < 2:
        return False
    flat = stack.reshape(-1, *stack.shape[-2:])
    return bool((flat == flat[:1]).all())


def _note_broadcast(watch: ProductWatch, left, right) -> None:
    """Element by element, but each side repeated along an axis of the other: a product table."""
    axes = max(left.ndim, right.ndim)
    if axes < 3:
        return  # two axes are too few for rows, columns and what they share
    left, right = ((1,) * (axes - t.ndim) + _own_shape(t) for t in (left, right))
    rows = math.prod(a for a, b in zip(left, right) if b == 1)
    columns = math.prod(b for a, b in zip(left, right) if a == 1)
    shared = math.prod(a for a, b in zip(left, right) if a == b)
    if rows > 1 and columns > 1:
        watch.note(rows, columns, shared)


def _own_shape(array) -> tuple[int, ...]:
    """The shape, with 1 for every axis along which the array only repeats itself."""
    return tuple(
        1
        if length > 1 and bool((array == array[(slice(None),) * axis + (slice(1),)]).all())
        else length
        for axis, length in enumerate(array.shape)
    )


# ---- NumPy --------------------------------------------------------------------


class WatchedArray(np.ndarray):
    """A NumPy array that tells the watch which products it takes part in."""

    watch: ProductWatch | None = None

    def __array_finalize__(self, source):
        self.watch = getattr(source, "watch", None)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        if method == "__call__" and self.watch is not None and len(inputs) == 2:
            left, right = (_array(_plain(i)) for i in inputs)
            if ufunc.__name__ == "matmul":
                _note_matrices(self.watch, left, right)
            elif ufunc.__name__ in NUMPY_ELEMENTWISE:
                _note_broadcast(self.watch, left, right)
        if out is not None:
            options["out"] = tuple(_plain(o) for o in out)
        result = getattr(ufunc, method)(*(_plain(i) for i in inputs), **options)
        return watched(result, self.watch)

    def __array_function__(self, function, types, args, kwargs):
        _note_function(self.watch, function.__name__, args)
        result = function(*map(_deep_plain, args), **{k: _deep_plain(v) for k, v in kwargs.items()})
        return watched(result, self.watch)

    def dot(self, other, out=None):
        return np.dot(self, other)


def watched(value, watch: ProductWatch | None):
    """A view of an array that reports to `watch`; anything else as it is."""
    if type(value) is not np.ndarray or watch is None:
        return value
    view = value.view(WatchedArray)
    view.watch = watch
    return view


def _plain(value):
    return value.view(np.ndarray) if isinstance(value, WatchedArray) else value


def _deep_plain(value):
    if isinstance(value, list | tuple):
        return type(value)(_deep_plain(v) for v in value)
    return _plain(value)


def _note_function(watch: ProductWatch | None, name: str, args: tuple) -> None:
    if watch is None:
        return
    if name == "einsum" and args and isinstance(args[0], str):
        _note_einsum(watch, args[0], [np.shape(a) for a in args[1:]])
    elif name in ("dot", "inner", "tensordot"):
        left, right = (_array(_plain(a)) for a in args[:2])
        if left.ndim > 1 and right.ndim > 1:
            shared = left.shape[-1]
            watch.note(left.size // shared, right.size // shared, shared)


def _note_einsum(watch: ProductWatch, subscripts: str, shapes: list[tuple]) -> None:
    letters = subscripts.replace(" ", "").split("->")[0].split(",")
    size = {
        letter: length
        for names, shape in zip(letters, shapes)
        for letter, length in zip(names, shape)
    }
    for i, left in enumerate(letters):
        for right in letters[i + 1 :]:
            rows = math.prod(size.get(c, 1) for c in set(left) - set(right))
            columns = math.prod(size.get(c, 1) for c in set(right) - set(left))
            watch.note(rows, columns, math.prod(size.get(c, 1) for c in set(left) & set(right)))


def _numpy_patches(watch: ProductWatch):
    """Arrays that leave a tensor, or are made by np.array, report too while the watch is on."""
    to_numpy = torch.Tensor.numpy
    make, convert = np.array, np.asarray
    yield mock.patch.object(
        torch.Tensor, "numpy", lambda self, **options: watched(to_numpy(self, **options), watch)
    )
    yield mock.patch.object(np, "array", lambda *a, **k: watched(make(*a, **k), watch))
    yield mock.patch.object(np, "asarray", lambda *a, **k: watched(convert(*a, **k), watch))
