"""The oracle against the mathematics, and against torch's own functions."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from course_utils.checks import judge
from course_utils.checks.equations import (
    remembered,
    softmax,
    softmax_gradient,
    weighted_sum,
)
from course_utils.checks.exercises import dot_prod_attention as dot_prod
from course_utils.checks.exercises import single_query_attention as single
from course_utils.checks.wire import Reply

numbers = st.floats(-20, 20, allow_nan=False)
vectors = st.integers(1, 8).flatmap(lambda n: arrays(float, n, elements=numbers))
sizes = st.tuples(*[st.integers(1, 4)] * 4)


@given(vectors)
def test_a_softmax_sums_to_one_and_agrees_with_torch(scores):
    weights = softmax(scores)
    assert abs(weights.sum() - 1) < 1e-12
    expected = torch.softmax(torch.from_numpy(scores), 0).numpy()
    np.testing.assert_allclose(weights, expected, atol=1e-12)


@given(vectors, numbers)
def test_a_constant_added_to_all_scores_changes_nothing(scores, constant):
    np.testing.assert_allclose(softmax(scores), softmax(scores + constant), atol=1e-9)


@given(vectors, st.randoms())
def test_the_softmax_is_equivariant(scores, random):
    order = list(range(len(scores)))
    random.shuffle(order)
    np.testing.assert_allclose(softmax(scores)[order], softmax(scores[order]), atol=1e-12)


@given(vectors, st.integers(0, 2**31))
def test_the_gradient_of_the_softmax_agrees_with_torch(scores, seed):
    upstream = np.random.default_rng(seed).standard_normal(len(scores))
    leaf = torch.from_numpy(scores.copy()).requires_grad_()
    torch.softmax(leaf, 0).backward(torch.from_numpy(upstream))
    ours = softmax_gradient(softmax(scores), upstream)
    np.testing.assert_allclose(ours, leaf.grad.numpy(), atol=1e-9)


@settings(max_examples=30)
@given(sizes, st.integers(0, 2**31))
def test_weights_and_context_agree_with_torchs_attention(size, seed):
    B, T, S, D = size
    rng = np.random.default_rng(seed)
    query, states = rng.standard_normal((B, T, D)), rng.standard_normal((B, S, D))
    weights = dot_prod.weights_of(query, states)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-12)
    q, h = torch.from_numpy(query), torch.from_numpy(states)
    expected = torch.nn.functional.scaled_dot_product_attention(q, h, h, scale=1.0)
    np.testing.assert_allclose(dot_prod.contexts_of(weights, states), expected, atol=1e-9)


@settings(max_examples=30)
@given(sizes, st.integers(0, 2**31))
def test_permuting_the_states_permutes_the_weights_and_keeps_the_context(size, seed):
    B, T, S, D = size
    rng = np.random.default_rng(seed)
    query, states, order = (
        rng.standard_normal((B, T, D)),
        rng.standard_normal((B, S, D)),
        rng.permutation(S),
    )
    weights, moved = (
        dot_prod.weights_of(query, states),
        dot_prod.weights_of(query, states[:, order]),
    )
    np.testing.assert_allclose(weights[..., order], moved, atol=1e-12)
    np.testing.assert_allclose(
        dot_prod.contexts_of(weights, states),
        dot_prod.contexts_of(moved, states[:, order]),
        atol=1e-9,
    )


def test_a_weighted_sum_agrees_with_the_matrix_product():
    rng = np.random.default_rng(0)
    weights, values = rng.standard_normal(5), rng.standard_normal((5, 3))
    np.testing.assert_allclose(weighted_sum(weights, values), weights @ values)


def test_no_question_saturates_the_softmax():
    """A wrong scale would pass where one weight is nearly one."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        for ask in dot_prod.asks(rng):
            if ask.label == "main":
                assert np.median(dot_prod.weights_of(*ask.options["args"]).max(-1)) < 0.8
        for ask in single.asks(rng):
            if ask.label == "constant":
                hidden, states = ask.options["args"]
                a, K = ask.options["fill"]["constant"], ask.options["init"][2]
                scores = a * a * np.sqrt(K) * hidden.sum(1)[:, None] * states.sum(2).T
                assert np.median(single.softmax_rows(scores).max(-1)) < 0.9


def test_what_equal_sets_of_mistakes_give_is_computed_once():
    asked = []
    once = remembered(lambda ask, mistakes: asked.append((ask, mistakes)) or len(asked))
    question = np.zeros(2)
    one, same = frozenset(["no-scale"]) | {"tanh"}, frozenset(["tanh", "no-scale"])
    assert one is not same
    assert once(question, one) == once(question, same) == 1
    assert once(question, frozenset(["no-scale"])) == 2
    assert once(np.zeros(2), one) == 3  # another question, though its numbers are equal


def test_the_scores_of_constant_matrices_are_those_of_the_formula_and_summed_up_once():
    (asks,) = judge.make_plan("single-query-attention", (11,)).asks
    replies = [Reply("error")] * len(asks)
    evidence = judge.Evidence(judge.load("single-query-attention"), 11, list(asks), replies)
    for label in single.CONSTANT:
        kq, a = single.SIZES[label][4:]
        hidden, states = evidence.args(label)
        K = kq or single.DEFAULT_KQ
        wanted = [
            [K * a * a * sum(h) * sum(states[t, b]) for t in range(len(states))]
            for b, h in enumerate(hidden)
        ]
        assert single.constant_scores(evidence, label).tolist() == wanted
        first, again = (single.sums_of(hidden, states) for _ in range(2))
        assert first is again
