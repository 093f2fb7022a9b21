"""Parts that a student wrote in an earlier notebook, and what replaces them if need be.

A later notebook gets a part by its name, in a setup cell:

    from course_utils import own

    MultiHeadAttention = own.part("MultiHeadAttention")

and, in a cell that nobody grades, lets students bring their own:

    # Paste your class of notebook 05 here, or leave this empty.
    bring_your_own("MultiHeadAttention")

`MultiHeadAttention(d_model, num_heads)` then builds an instance of the student's class, if that was
brought and passed its check, and otherwise of a stand-in that wraps PyTorch's. Checks always use the
stand-ins, so what was brought can never cost points, and the grader never runs it.

A new part is an entry in PARTS: the exercise that checks it, and its stand-in.
"""

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """exercise: the one with the check to pass; stand_in: `module:name`; called: its description."""

    exercise: str
    stand_in: str
    called: str


PARTS = {
    "attention_by_hand": Part(
        "attention-by-hand",
        "course_utils.stand_ins:attention_by_hand",
        "PyTorch's scaled_dot_product_attention",
    ),
    "causal_mask": Part(
        "causal-mask",
        "course_utils.stand_ins:causal_mask",
        "PyTorch's generate_square_subsequent_mask",
    ),
    "MultiHeadAttention": Part(
        "multi-head-attention",
        "course_utils.transformer.multi_head:MultiHeadAttention",
        "PyTorch's nn.MultiheadAttention",
    ),
    "positional_encoding": Part(
        "positional-encoding",
        "course_utils.stand_ins:positional_encoding",
        "random rows, as in a new nn.Embedding",
    ),
}
_brought: dict[str, Callable] = {}
_stand_ins_alone = False


def part(name: str) -> Callable:
    """What a notebook calls by this name: whichever is in use when it is called."""
    _known(name)

    def build(*args, **kwargs):
        return in_use(name)(*args, **kwargs)

    build.__name__ = build.__qualname__ = name
    return build


def in_use(name: str) -> Callable:
    """The student's class or function, or the stand-in."""
    return _brought[name] if is_own(name) else stand_in(name)


def is_own(name: str) -> bool:
    """Whether the student's part is in use."""
    return _known(name) and name in _brought and not _stand_ins_alone


@functools.cache
def _imported(path: str) -> Callable:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def stand_in(name: str) -> Callable:
    """What takes the place of a part that was not brought."""
    return _imported(PARTS[name].stand_in)


def use(name: str, brought: Callable) -> None:
    """From now on, this class or function of the student's is the part."""
    _known(name)
    _brought[name] = brought


def forget(name: str) -> None:
    """From now on, the stand-in is the part."""
    _known(name)
    _brought.pop(name, None)


@contextlib.contextmanager
def stand_ins_alone() -> Iterator[None]:
    """Inside, every part is its stand-in, as it is where answers are graded."""
    global _stand_ins_alone
    before, _stand_ins_alone = _stand_ins_alone, True
    try:
        yield
    finally:
        _stand_ins_alone = before


def _known(name: str) -> bool:
    if name not in PARTS:
        raise KeyError(f"There is no part called {name!r}. There are: {', '.join(PARTS)}.")
    return True
