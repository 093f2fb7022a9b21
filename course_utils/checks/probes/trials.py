"""When a student's code raises: tries what would make it run, and notes what did.

A trial changes the inputs, or mends the operator that failed, and calls the answer once more. Only
a call that runs to its end and returns the shapes that were asked for counts. What is noted is a
fact about the student's code ("it runs if ..."); it earns nothing and does not concern values.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from course_utils import register
from course_utils.checks.axes import parameters, results
from course_utils.checks.probes.call import default_dtype, to_argument
from course_utils.checks.probes.student_code import find_callable

PRODUCTS = {"matmul", "bmm", "mm", "mv", "dot", "__matmul__", "__rmatmul__"}
BROADCASTS = {
    *("add", "sub", "mul", "div", "masked_fill", "where", "__add__", "__sub__", "__mul__"),
    *("__truediv__", "__radd__", "__rmul__", "true_divide", "masked_fill_", "mul_", "add_"),
}
FIRST_AXES = "first-axes"
Arguments = list[Any]


def likely_cause(namespace: dict, exercise: str, probe: str, options: dict) -> dict[str, str]:
    """Notes on the first trial that makes the answer run: its `cause`, and what it changed."""
    if probe != "call" or options.get("as_numpy"):
        return {}
    question = Question(namespace, register.exercise(exercise).signature, options)
    if question.runs_as_it_is():  # it raised elsewhere: for parameters or gradients, say
        return {}
    for cause, detail, arguments, mend in question.trials():
        with contextlib.suppress(Exception):
            if question.runs(cause, arguments, mend):
                return {"cause": cause, "cause_detail": detail or getattr(mend, "detail", "")}
    return {}


class Question:
    """The call that failed, with the names of the axes of its arguments and results."""

    def __init__(self, namespace: dict, signature: str, options: dict):
        self.namespace, self.options = namespace, options
        name = "forward" if "init" in options else options["target"]
        self.parameters = parameters(signature, name)
        self.results = results(signature, name)
        self.heads = _number_of_heads(signature, options)
        self.given = [to_argument(a, torch.float32, options) for a in options.get("args", [])]

    def trials(self) -> Iterator[tuple[str, str, Arguments, Any]]:
        """(cause, detail, arguments, mode), what tells most first."""
        for attention in (ExchangedAttention, LostMask):
            yield attention.cause, "", self.given, attention()
        yield from self._other_inputs()
        for mend in MENDS:
            yield mend.cause, "", self.given, mend(self.heads)
        yield from self._fewer_axes()
        yield OtherSize.cause, "", self.given, OtherSize(self.heads)

    def _other_inputs(self) -> Iterator[tuple[str, str, Arguments, Any]]:
        tensors = [i for i, a in enumerate(self.given) if isinstance(a, Tensor)]
        if any(len(names) >= 3 for names in self._letters()):
            yield FIRST_AXES, self._first_axes(), self._with(_first_axes_exchanged), None
        for one, other in itertools.combinations(tensors, 2):
            changed = list(self.given)
            changed[one], changed[other] = changed[other], changed[one]
            yield "swapped", f"{self.parameters[one][0]} {self.parameters[other][0]}", changed, None

    def _fewer_axes(self) -> Iterator[tuple[str, str, Arguments, Any]]:
        if any("B" in names for names in self._letters()):
            yield "no-batch", "", self._with(lambda a, names: _without(a, names, "B")), None
        sizes = self._sizes(self.given)
        for one, other in itertools.combinations(sizes, 2):
            if sizes[one] != sizes[other]:
                size = min(sizes[one], sizes[other])
                # A third axis may have that size by chance, so a smaller one has to run too.
                smaller = self._equal({one, other}, max(size - 1, 1))
                with contextlib.suppress(Exception):
                    if self.runs("equal-sizes", smaller, None):
                        yield "equal-sizes", f"{one} {other}", self._equal({one, other}, size), None

    def _equal(self, axes: set[str], size: int) -> Arguments:
        return self._with(lambda a, names: _cut(a, names, axes, size))

    def _letters(self) -> list[list[str]]:
        letters = [names for _, names in self.parameters]
        return [*letters, *([] for _ in self.given[len(letters) :])]

    def _first_axes(self) -> str:
        """The first axis of the arguments as they are given."""
        return next(names[0] for names in self._letters() if len(names) >= 3)

    def _with(self, change: Callable) -> Arguments:
        return [
            change(a, names) if isinstance(a, Tensor) and len(names) == a.dim() else a
            for a, names in zip(self.given, self._letters())
        ]

    def _sizes(self, arguments: Arguments) -> dict[str, int]:
        found: dict[str, int] = {}
        for argument, names in zip(arguments, self._letters()):
            if isinstance(argument, Tensor) and len(names) == argument.dim():
                found |= dict(zip(names, argument.shape))
        return found

    def runs_as_it_is(self) -> bool:
        """Whether the call alone works, so that no change of its inputs can be the reason."""
        with contextlib.suppress(Exception):
            self._call(self.given, None)
            return True
        return False

    def runs(self, cause: str, arguments: Arguments, mend) -> bool:
        """Whether the answer runs on these, and returns shapes that fit them."""
        result = self._call(arguments, mend)
        if mend is not None and not mend.used:
            return False
        parts = list(result) if isinstance(result, tuple | list) else [result]
        if not all(isinstance(part, Tensor) for part in parts) or len(parts) != len(self.results):
            return False
        same_letters = cause in (FIRST_AXES, "swapped")
        sizes = self._sizes(self.given if same_letters else arguments)
        gone = {"B"} if "B" not in sizes else set()
        for part, names in zip(parts, self.results):
            left = [name for name in names if name not in gone]
            known = [(size, sizes[n]) for size, n in zip(part.shape, left) if n in sizes]
            if part.dim() != len(left) or any(size != wanted for size, wanted in known):
                return False
        return True

    def _call(self, arguments: Arguments, mend):
        fresh = [a.clone() if isinstance(a, Tensor) else a for a in arguments]
        with default_dtype(torch.float32), torch.no_grad():
            torch.default_generator.manual_seed(0)
            target = find_callable(self.namespace, self.options["target"], "init" in self.options)
            if "init" in self.options:
                target = target(*self.options["init"]).eval()
            with mend or contextlib.nullcontext():
                return target(*fresh, **self.options.get("kwargs", {}))


def _number_of_heads(signature: str, options: dict) -> int:
    init = parameters(signature, options["target"])
    named = dict(zip((name for name, _ in init), options.get("init", [])))
    return int(named.get("num_heads", 1))


def _first_axes_exchanged(argument: Tensor, names: list[str]) -> Tensor:
    return argument.transpose(0, 1) if argument.dim() >= 3 else argument


def _without(argument: Tensor, names: list[str], letter: str) -> Tensor:
    return argument.select(names.index(letter), 0) if letter in names else argument


def _cut(argument: Tensor, names: list[str], which: set[str], size: int) -> Tensor:
    for axis, name in enumerate(names):
        if name in which:
            argument = argument.narrow(axis, 0, size)
    return argument


# ---- operators that are mended as they fail -----------------------------------


class Mend(TorchFunctionMode):
    """Lets every operator run as it is; one that fails is tried with other arguments."""

    cause = ""

    def __init__(self, heads: int = 1):
        super().__init__()
        self.heads, self.used, self.detail = heads, False, ""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        try:
            return func(*args, **kwargs)
        except (RuntimeError, IndexError) as problem:
            for changed in self.others(getattr(func, "__name__", ""), list(args), kwargs):
                with contextlib.suppress(RuntimeError, IndexError):
                    result = func(*changed, **kwargs)
                    if not self.used:
                        self.detail = _shapes(args)
                    self.used = True
                    return result
            raise problem

    def others(self, name: str, args: list, kwargs: dict) -> Iterator[list]:
        raise NotImplementedError


def _shapes(args) -> str:
    tensors = [a for a in _flat(args) if isinstance(a, Tensor)]
    return " ".join("x".join(map(str, t.shape)) for t in tensors[:2])


def _flat(args) -> Iterator:
    for one in args:
        if isinstance(one, list | tuple):
            yield from one
        else:
            yield one


class Heads(Mend):
    """Features of the size of one head reach the last layer: side by side it would run."""

    def others(self, name, args, kwargs):
        one_head = name == "linear" and args[0].shape[-1] * self.heads == args[1].shape[1]
        if one_head and self.heads > 1:
            yield from ([joined, *args[1:]] for joined in self.joined(args[0]))

    def joined(self, given: Tensor) -> Iterator[Tensor]:
        raise NotImplementedError


class HeadsApart(Heads):
    cause = "heads-not-joined"

    def joined(self, given):
        if given.dim() == 4 and given.shape[1] == self.heads:
            yield given.transpose(1, 2).flatten(2)
        elif given.dim() == 4:
            yield given.flatten(2)


class HeadsAlongTime(Heads):
    cause = "heads-along-another-axis"

    def joined(self, given):
        if given.dim() == 3 and given.shape[1] % self.heads == 0:
            yield given.unflatten(1, (self.heads, -1)).transpose(1, 2).flatten(2)


class HeadsAdded(Heads):
    cause = "heads-added"

    def joined(self, given):
        if given.dim() == 3:
            yield given.repeat_interleave(self.heads, -1)


class HeadsThird(Mend):
    """[B, T, num_heads, d] in a product, where [B, num_heads, T, d] would run."""

    cause = "heads-third"

    def __torch_function__(self, func, types, args=(), kwargs=None):
        four = [isinstance(a, Tensor) and a.dim() == 4 for a in args[:2]] == [True, True]
        if getattr(func, "__name__", "") not in PRODUCTS or not four or self.heads == 1:
            return func(*args, **(kwargs or {}))
        one, other = args[:2]
        if one.shape[2] == self.heads == other.shape[3]:  # queries, and keys transposed
            self.used, self.detail = True, _shapes(args)
            return func(one.transpose(1, 2), other.transpose(1, 3))
        if self.used and other.shape[2] == self.heads:  # weights and values
            return func(one, other.transpose(1, 2)).transpose(1, 2)
        return func(*args, **(kwargs or {}))


class MissingAxis(Mend):
    """One of two operands lacks an axis: it runs with one more."""

    cause = "missing-axis"

    def others(self, name, args, kwargs):
        if name not in BROADCASTS | PRODUCTS:
            return
        pair = [i for i, a in enumerate(args) if isinstance(a, Tensor)][:2]
        if len(pair) < 2 or args[pair[0]].dim() == args[pair[1]].dim():
            return
        low = min(pair, key=lambda i: args[i].dim())
        if name in PRODUCTS:
            yield [*args[:low], args[low].unsqueeze(-1 if low else -2), *args[low + 1 :]]
            return
        for axis in range(1, args[low].dim() + 1):
            yield [*args[:low], args[low].unsqueeze(axis), *args[low + 1 :]]


class Transposed(Mend):
    """A product of two matrices where one is to be transposed."""

    cause = "transpose-missing"

    def others(self, name, args, kwargs):
        if name in PRODUCTS and all(isinstance(a, Tensor) and a.dim() >= 2 for a in args[:2]):
            for which in (1, 0):
                changed = list(args)
                changed[which] = changed[which].transpose(-1, -2)
                yield changed


class OtherOrder(Mend):
    """A product of two matrices that come in the other order."""

    cause = "product-order"

    def others(self, name, args, kwargs):
        if name in PRODUCTS and len(args) == 2:
            yield [args[1], args[0]]


class OtherAxis(Mend):
    """Tensors that are joined side by side, not along the axis that was given."""

    cause = "joined-along-another-axis"

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if getattr(func, "__name__", "") not in ("cat", "concat", "concatenate"):
            return func(*args, **(kwargs or {}))
        self.used, self.detail = True, _shapes(args)
        return func(args[0], dim=-1)


class OtherSize(Mend):
    """A linear layer that was made for another number of features than it gets."""

    cause = "layer-of-another-size"

    def others(self, name, args, kwargs):
        if name == "linear" and args[0].shape[-1] != args[1].shape[1]:
            wanted = args[1].shape[1]
            times = -(-wanted // args[0].shape[-1])
            yield [torch.cat([args[0]] * times, dim=-1)[..., :wanted], *args[1:]]


MENDS = (
    *(HeadsApart, HeadsAlongTime, HeadsAdded, HeadsThird),
    *(MissingAxis, Transposed, OtherOrder, OtherAxis),
)


# ---- calls of attention inside a layer ------------------------------------------


class _Attention:
    """Changes what an attention layer inside the answer is called with."""

    cause = ""

    def __init__(self) -> None:
        self.used, self.detail = False, ""

    def __enter__(self):
        call = nn.Module.__call__

        def changed(module, *args, **kwargs):
            tensors = [a for a in args[:3] if isinstance(a, Tensor) and a.dim() == 3]
            if len(tensors) == 3:
                masks = [*args[3:], *(kwargs.pop(n) for n in ("mask", "attn_mask") if n in kwargs)]
                args = tuple(self.change([*args[:3], *masks]))
            return call(module, *args, **kwargs)

        self._patch = mock.patch.object(nn.Module, "__call__", changed)
        self._patch.start()

    def __exit__(self, *problem) -> None:
        self._patch.stop()

    def change(self, args: list) -> list:
        raise NotImplementedError


class ExchangedAttention(_Attention):
    """attention(memory, x, x) where attention(x, memory, memory) is meant."""

    cause = "query-and-memory"

    def change(self, args):
        query, key, value = args[:3]
        if query.shape[1] == key.shape[1] or key.shape != value.shape:
            return args
        self.used = True
        return [key, query, query, *args[3:]]


class LostMask(_Attention):
    """A mask that was made for other lengths than those of this attention."""

    cause = "mask-of-another-attention"

    def change(self, args):
        query, key, mask = args[0], args[1], args[3] if len(args) > 3 else None
        if not isinstance(mask, Tensor) or mask.shape[-2:] == (query.shape[1], key.shape[1]):
            return args
        self.used = True
        sizes = (mask.shape[-2:], (query.shape[1], key.shape[1]))
        self.detail = " ".join("x".join(map(str, size)) for size in sizes)
        return [*args[:3], None, *args[4:]]
