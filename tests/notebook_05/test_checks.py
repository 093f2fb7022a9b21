"""The checks of notebook 05: right answers pass, refusals cost little, hints name the mistake."""

import torch

from autograder.solutions import solution
from course_utils.checks import judge
from course_utils.notebook import judge_here
from course_utils.register import exercises

ANSWERS = {
    n: solution(e.id, n) for e in exercises("05_self_attention") if e.checked for n in e.names
}


def verdict(exercise: str, names: dict, seeds=(11,)):
    return judge_here(judge.make_plan(exercise, seeds), names)


def test_an_error_without_the_sizes_in_it_does_not_count_as_a_clear_one():
    names = dict(ANSWERS)
    good = names["MultiHeadAttention"]

    class MultiHeadAttention(good):
        def __init__(self, d_model, num_heads):
            if d_model % num_heads:
                raise ValueError("the sizes do not fit")
            super().__init__(d_model, num_heads)

    found = verdict("multi-head-attention", {**names, "MultiHeadAttention": MultiHeadAttention})
    failed = [f for f in found.findings if not f.passed]
    assert [f.name for f in failed] == ["sizes and masks that do not fit are refused"]
    assert "does not name the number" in failed[0].message


def test_a_mask_that_silently_gives_nan_is_told():
    names = dict(ANSWERS)

    def self_attention(X, W_Q, W_K, W_V, mask=None):
        scores = (X @ W_Q) @ (X @ W_K).T / W_K.shape[1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        return weights @ (X @ W_V), weights

    found = verdict("self-attention", {**names, "self_attention": self_attention})
    failed = [f for f in found.findings if not f.passed]
    assert [f.name for f in failed] == ["a mask that cannot work is refused, and names why"]
