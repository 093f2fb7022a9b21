"""Rotary positions, grouped queries and attention in blocks: the solutions beside PyTorch."""

import math

import pytest
import torch
from torch.nn import functional as F

from autograder.solutions import solution
from course_utils.language_model.drawing import draw_memory, draw_scores
from course_utils.language_model.peak import peak_bytes


def test_turned_scores_depend_on_the_distance_alone():
    rotate = solution("rotary-positions")
    torch.manual_seed(0)
    query, key = torch.randn(2, 1, 1, 1, 16, dtype=torch.float64)
    for first in (0, 50, 5000):
        score = (rotate(query, first + 3) * rotate(key, first)).sum()
        if first == 0:
            wanted = score
        assert float(score) == pytest.approx(float(wanted), abs=1e-9)


def test_grouped_queries_equal_pytorchs_own():
    grouped = solution("grouped-queries")
    torch.manual_seed(0)
    query, (key, value) = torch.randn(2, 6, 5, 8), torch.randn(2, 2, 3, 7, 8)
    mask = torch.rand(5, 7) < 0.6
    mask[:, 0] = True
    theirs = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, enable_gqa=True)
    assert torch.allclose(grouped(query, key, value, mask), theirs, atol=1e-6)


@pytest.mark.parametrize("sizes", [[7], [1] * 7, [3, 4], [5, 1, 1]])
def test_blocks_of_any_size_give_the_same_as_attention_at_once(sizes):
    add_block = solution("online-softmax")
    torch.manual_seed(0)
    query, keys, values = 30 * torch.randn(4, 6), torch.randn(7, 6), torch.randn(7, 3)
    state = (torch.full((4,), -math.inf), torch.zeros(4), torch.zeros(4, 3))
    for block_keys, block_values in zip(keys.split(sizes), values.split(sizes)):
        state = add_block(*state, query, block_keys, block_values)
    _, total, summed = state
    whole = F.scaled_dot_product_attention(query, keys, values)
    assert torch.allclose(summed / total[:, None], whole, atol=1e-5)


def test_peak_memory_counts_what_lives_at_one_moment():
    x = torch.zeros(1000)
    assert peak_bytes(lambda: x[::2].view(-1))[1] == 0  # a view of what was given
    assert peak_bytes(lambda: x + 1)[1] == 4000
    assert peak_bytes(lambda: (x + 1) + (x + 2))[1] == 12_000
    # While a tool that measures coverage removes its probes, it holds on to a tensor, once.
    freed = min(peak_bytes(lambda: [float((x + n).sum()) for n in range(9)])[1] for _ in range(3))
    assert 4000 <= freed < 4100


def test_the_pictures_say_in_words_what_they_show():
    positions = torch.arange(5.0)
    words = draw_scores(-(positions[:, None] - positions).abs()).words
    assert "differ by at most 0.0e+00; over the whole table by 4.0" in words
    words = draw_memory([(512, 2_000_000, 1_000_000), (1024, 8_000_000, 2_000_000)]).words
    assert "at once: 2.0 to 8.0 MB, as length^2.0; in blocks: 1.0 to 2.0 MB, as length^1.0" in words
