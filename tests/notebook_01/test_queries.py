"""Queries are judged by what attention makes of them, and functions by what they multiply."""

import time

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_utils.by_hand import noisy_average
from course_utils.checks import queries
from tests.notebook_01.answers import verdict


@given(c=st.floats(20, 1e4), seed=st.integers(2, 10**6))
@settings(max_examples=15, deadline=None)
def test_any_constant_that_is_large_enough_is_right(c, seed):
    def copy_query(keys, j):
        return c * keys.shape[1] ** 0.5 * keys[j]

    assert verdict("copy-query", {"copy_query": copy_query}, (seed,)).passed


@given(c=st.floats(0.01, 6), seed=st.integers(2, 10**6))
@settings(max_examples=15, deadline=None)
def test_a_constant_below_the_logarithm_of_the_number_of_keys_is_too_small(c, seed):
    def average_query(keys, a, b):
        return c * keys.shape[1] ** 0.5 * (keys[a] + keys[b])

    found = verdict("average-query", {"average_query": average_query}, (seed,))
    assert not found.passed and found.misconception == "constant-too-small"


def test_a_query_that_inverts_the_softmax_is_right_too():
    def average_query(keys, a, b):
        wanted = torch.full((len(keys),), 1e-6)
        wanted[[a, b]] = 0.5
        return keys.shape[1] ** 0.5 * torch.log(wanted) @ keys

    assert verdict("average-query", {"average_query": average_query}, (3, 4)).passed


def test_five_root_d_leaves_most_of_the_weight_elsewhere_among_512_keys():
    keys = queries.orthonormal(np.random.default_rng(0), 512, 512)
    share = queries.weights(5 * 512**0.5 * (keys[3] + keys[7]), keys)
    assert share[[3, 7]].sum() == pytest.approx(0.37, abs=0.005)


def test_one_head_swings_and_two_heads_stay():
    directions = noisy_average.orthonormal(8, 16)
    values = np.eye(8)[:, :2]
    c = 100 * 16**0.5
    one = noisy_average.outputs(
        directions, [c * (directions[0] + directions[1])], values, 0.05, 300
    )
    pair = [c * directions[0], c * directions[1]]
    two = noisy_average.outputs(directions, pair, values, 0.05, 300)
    assert one.std(axis=0).min() > 0.4 and two.std(axis=0).max() < 0.01
    assert np.abs(one.mean(axis=0) - 0.5).max() < 0.1


def test_a_factor_below_zero_sends_a_head_to_the_wrong_keys():
    directions = noisy_average.orthonormal(4, 8)
    query = 1000 * directions[0]
    factors = np.array([-0.5, 1, 1, 1])[:, None]
    output = noisy_average.attend(query, factors * directions, np.eye(4))
    assert output[0] < 1e-6 and output[1:] == pytest.approx([1 / 3] * 3)


def test_the_scores_of_a_noisy_average_are_as_derived():
    directions = noisy_average.orthonormal(5, 9)
    factors = np.random.default_rng(1).normal(1, 0.3, 5)
    keys = factors[:, None] * directions
    c = 7.0
    assert c * (directions[1] + directions[3]) @ keys[1] == pytest.approx(c * factors[1])
    assert c * (keys[1] + keys[3]) @ keys[1] == pytest.approx(c * factors[1] ** 2)


def test_the_plot_tells_in_words_what_it_shows():
    cloud = np.full((10, 2), 0.5)
    bundle = noisy_average.spread_plot({"two heads": cloud})._repr_mimebundle_()
    assert 'alt="Outputs over many draws' in bundle["text/html"]
    assert "two heads: 10 draws, mean error 0.000" in bundle["text/plain"]


@pytest.mark.parametrize("returned", [None, "query", 3.0, torch.zeros(2), [1.0, 2.0], float("nan")])
def test_odd_results_get_a_sentence_and_no_points(returned):
    found = verdict("copy-query", {"copy_query": lambda keys, j: returned})
    assert found.points == 0 and all(f.message for f in found.findings)


@pytest.mark.parametrize(
    "exercise", ["attention-by-hand", "multi-head-by-hand", "copy-query", "two-head-queries"]
)
def test_a_check_takes_less_than_half_a_second(exercise):
    from autograder.selftest import MUTANTS

    name = {"attention-by-hand": "right_three_loops", "multi-head-by-hand": "right_vectors"}
    file = next((MUTANTS / exercise).glob(f"{name.get(exercise, 'right_')}*.py"))
    namespace = {"__name__": "student"}
    exec(compile(file.read_text(), file, "exec"), namespace)
    verdict(exercise, namespace)
    started = time.process_time()
    assert verdict(exercise, namespace).passed
    assert time.process_time() - started < 0.5
