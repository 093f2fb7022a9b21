"""The reference answers of notebook 05 against PyTorch's own modules, and their refusals."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from autograder.oracles.blocks import attend, weights_of
from autograder.solutions import solution
from course_utils.register import exercises
from course_utils.transformer.masks import check_mask

ANSWERS = {
    n: solution(e.id, n) for e in exercises("05_self_attention") if e.checked for n in e.names
}
sizes = st.integers(1, 6)


def random_mask(rows: int, columns: int) -> torch.Tensor:
    mask = torch.rand(rows, columns) < 0.5
    mask[torch.arange(rows), torch.randint(columns, (rows,))] = True
    return mask


@settings(deadline=None, max_examples=25)
@given(B=sizes, T=sizes, S=sizes, d=sizes, num_heads=st.integers(1, 4), seed=st.integers(0, 999))
def test_multi_head_attention_equals_torchs_with_its_weights(B, T, S, d, num_heads, seed):
    torch.manual_seed(seed)
    D = d * num_heads
    ours = ANSWERS["MultiHeadAttention"](D, num_heads).double()
    theirs = nn.MultiheadAttention(D, num_heads, batch_first=True).double()
    projections = (ours.W_Q, ours.W_K, ours.W_V)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
        theirs.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
        theirs.out_proj.load_state_dict(ours.W_O.state_dict())
    query, key, value = (torch.randn(B, n, D, dtype=torch.float64) for n in (T, S, S))
    mask = random_mask(T, S)
    output, weights = ours(query, key, value, mask)
    wanted, wanted_weights = theirs(query, key, value, attn_mask=~mask, average_attn_weights=False)
    torch.testing.assert_close(output, wanted, atol=1e-10, rtol=0)
    torch.testing.assert_close(weights, wanted_weights, atol=1e-10, rtol=0)


def test_one_mask_for_each_sequence_equals_calling_it_for_each_sequence():
    torch.manual_seed(0)
    ours = ANSWERS["MultiHeadAttention"](8, 2)
    x = torch.randn(3, 5, 8)
    masks = torch.stack([random_mask(5, 5) for _ in range(3)])
    together, _ = ours(x, x, x, masks)
    for b in range(3):
        alone, _ = ours(x[b : b + 1], x[b : b + 1], x[b : b + 1], masks[b])
        torch.testing.assert_close(together[b], alone[0], atol=1e-6, rtol=0)


def test_self_attention_equals_torchs_scaled_dot_product():
    torch.manual_seed(0)
    X, W_Q, W_K = torch.randn(6, 4), torch.randn(4, 3), torch.randn(4, 3)
    W_V, mask = torch.randn(4, 5), random_mask(6, 6)
    output, weights = ANSWERS["self_attention"](X, W_Q, W_K, W_V, mask)
    wanted = F.scaled_dot_product_attention(X @ W_Q, X @ W_K, X @ W_V, attn_mask=mask)
    torch.testing.assert_close(output, wanted, atol=1e-5, rtol=0)
    assert not weights[~mask].any()


@settings(deadline=None, max_examples=25)
@given(L=sizes, D=sizes, seed=st.integers(0, 999))
def test_self_attention_without_a_mask_is_permutation_equivariant(L, D, seed):
    torch.manual_seed(seed)
    X = torch.randn(L, D, dtype=torch.float64)
    matrices = [torch.randn(D, D, dtype=torch.float64) for _ in range(3)]
    order = torch.randperm(L)
    plain, _ = ANSWERS["self_attention"](X, *matrices)
    shuffled, _ = ANSWERS["self_attention"](X[order], *matrices)
    torch.testing.assert_close(shuffled, plain[order], atol=1e-10, rtol=0)


def test_a_causal_mask_breaks_the_equivariance():
    torch.manual_seed(0)
    X, matrices = torch.randn(4, 3), [torch.randn(3, 3) for _ in range(3)]
    order, mask = [3, 1, 0, 2], ANSWERS["causal_mask"](4)
    plain, _ = ANSWERS["self_attention"](X, *matrices, mask)
    shuffled, _ = ANSWERS["self_attention"](X[order], *matrices, mask)
    assert (shuffled - plain[order]).abs().max() > 0.01


def test_positions_turn_by_one_rotation_wherever_they_stand():
    table = ANSWERS["positional_encoding"](60, 12).double()
    products = table @ table.T
    for distance in (1, 7, 30):
        along = products.diagonal(distance)
        torch.testing.assert_close(along, along[0].expand_as(along), atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("mask", "error", "numbers"),
    [
        (torch.ones(4, 5, dtype=torch.bool), ValueError, ("4", "5")),
        (torch.ones(4, 4), TypeError, ("float32",)),
        (torch.tril(torch.ones(4, 4), -1).bool(), ValueError, ("0", "4")),
        ([[True] * 4] * 4, TypeError, ("list",)),
    ],
)
def test_a_mask_that_cannot_work_is_refused_with_its_sizes(mask, error, numbers):
    with pytest.raises(error) as caught:
        check_mask(mask, 4, 4)
    for number in numbers:
        assert number in str(caught.value)


def test_a_batch_of_masks_may_have_one_row_for_all_queries():
    check_mask(torch.ones(2, 1, 5, dtype=torch.bool), 4, 5, batch=2)
    with pytest.raises(ValueError, match=r"\[3, 1, 5\]"):
        check_mask(torch.ones(3, 1, 5, dtype=torch.bool), 4, 5, batch=2)


def test_heads_that_do_not_divide_the_size_are_refused_with_both_numbers():
    with pytest.raises(ValueError, match=r"10.*3|3.*10"):
        ANSWERS["MultiHeadAttention"](10, 3)


def test_a_fully_masked_row_raises_and_gives_no_nan():
    ours = ANSWERS["MultiHeadAttention"](4, 2)
    x, mask = torch.randn(1, 3, 4), torch.ones(3, 3, dtype=torch.bool)
    mask[2] = False
    with pytest.raises(ValueError, match="Row 2"):
        ours(x, x, x, mask)


@settings(deadline=None, max_examples=20)
@given(T=sizes, S=sizes, d=sizes, seed=st.integers(0, 999))
def test_the_oracles_weights_agree_with_torch(T, S, d, seed):
    rng = np.random.default_rng(seed)
    Q, K, V = (rng.standard_normal((n, d)) for n in (T, S, S))
    weights = weights_of(Q, K)
    wanted = F.scaled_dot_product_attention(*map(torch.from_numpy, (Q, K, V)))
    np.testing.assert_allclose(weights @ V, wanted.numpy(), atol=1e-10)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-12)


def test_the_oracle_attends_as_loops_over_sentences_and_heads_do():
    rng = np.random.default_rng(0)
    query, memory = rng.standard_normal((2, 3, 6)), rng.standard_normal((2, 4, 6))
    W_Q, W_K, W_V, W_O = rng.standard_normal((4, 6, 6))
    projections = [lambda x, W=W: x @ W for W in (W_Q, W_K, W_V, W_O)]
    mask = rng.random((2, 3, 4)) < 0.6
    mask[..., 1] = True
    output, weights = attend(query, memory, memory, projections, 2, mask)
    for b in range(2):
        heads = []
        for h in range(2):
            Q, K, V = (
                (x[b] @ W)[:, 3 * h : 3 * h + 3]
                for x, W in ((query, W_Q), (memory, W_K), (memory, W_V))
            )
            scores = np.where(mask[b], Q @ K.T / np.sqrt(3), -np.inf)
            rows = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
            np.testing.assert_allclose(weights[b, h], rows, atol=1e-12)
            heads.append(rows @ V)
        np.testing.assert_allclose(output[b], np.concatenate(heads, axis=1) @ W_O, atol=1e-12)
