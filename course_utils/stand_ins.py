"""What replaces small parts that a student did not bring: PyTorch's own, wrapped."""

import functools
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn

from course_utils.asked import asked_now

Function = TypeVar("Function", bound=Callable)


def no_answer_to(exercise: str) -> Callable[[Function], Function]:
    """Let the function refuse to work while this exercise is checked."""

    def guarded(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args, **kwargs):
            if asked_now() == exercise:
                raise RuntimeError(
                    f"This is the course's stand-in for {function.__name__}. Write it yourself."
                )
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return guarded


@no_answer_to("attention-by-hand")
def attention_by_hand(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    """[L, d], [L, d], [L, dv] -> [L, dv]."""
    return nn.functional.scaled_dot_product_attention(Q[None], K[None], V[None])[0]


@no_answer_to("causal-mask")
def causal_mask(L: int) -> Tensor:
    """[L, L]. PyTorch's has 0 where attention is allowed, and minus infinity elsewhere."""
    return nn.Transformer.generate_square_subsequent_mask(L) == 0


@no_answer_to("positional-encoding")
def positional_encoding(L: int, d_model: int) -> Tensor:
    """[L, d_model]: no sines, but a different row for each position."""
    with torch.no_grad():
        return nn.Embedding(L, d_model).weight.clone()
