"""Memories of a known size: what they return, and the lines they are drawn against."""

import itertools

import pytest
import torch

from course_utils.language_model.memory import (
    MEMORIES,
    attention,
    commonest_stored_value,
    delta_rule,
    least_squares,
    linear_bound,
    memory_point,
    plain_sum,
    random_stored_value,
    values_only,
)
from course_utils.language_model.selective import SelectiveSSM


def pairs(count: int, size: int, trials: int = 50) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    keys, values = torch.randn(2, trials, count, size, generator=generator).double()
    return keys / keys.norm(dim=-1, keepdim=True), values


def error(found: torch.Tensor, values: torch.Tensor) -> float:
    return float((found - values).square().sum() / values.square().sum())


@pytest.mark.parametrize("memory", [plain_sum, delta_rule, least_squares, attention])
def test_orthogonal_keys_return_their_values_exactly(memory):
    keys, (_, values) = torch.eye(6).double(), pairs(6, 6, trials=1)
    assert torch.allclose(memory(keys, values[0]), values[0], atol=1e-6)


@pytest.mark.parametrize("count", [8, 12, 16, 32])
def test_the_best_linear_memory_lies_on_its_line(count):
    keys, values = pairs(count, 8)
    found = error(least_squares(keys, values), values)
    assert found == pytest.approx(linear_bound(count, 8), abs=0.03)


@pytest.mark.parametrize("count", [4, 8, 16])
def test_no_linear_memory_beats_least_squares(count):
    keys, values = pairs(count, 8)
    best = error(least_squares(keys, values), values)
    for other in (plain_sum, delta_rule, lambda k, v: delta_rule(k, v, 100)):
        assert error(other(keys, values), values) >= best - 1e-9


def test_attention_returns_more_pairs_than_a_matrix_has_rows():
    keys, values = pairs(64, 32, trials=10)
    assert error(attention(keys, values), values) < 0.01
    assert error(least_squares(keys, values), values) > 0.45


def test_the_delta_rule_returns_the_last_pair_exactly_and_the_first_ones_less():
    keys, values = pairs(8, 8)
    found = delta_rule(keys, values)
    assert torch.allclose(found[:, -1], values[:, -1])
    assert error(found[:, 0], values[:, 0]) > 0.1


def test_the_mean_of_the_values_does_not_look_at_the_keys():
    keys, values = pairs(5, 4, trials=2)
    assert torch.equal(values_only(keys, values), values_only(keys.flip(1), values))


@pytest.mark.parametrize(("count", "values"), [(2, 3), (3, 2), (4, 3)])
def test_answers_without_keys_are_counted_exactly(count, values):
    drawn = list(itertools.product(range(values), repeat=count))
    commonest = sum(max(one.count(v) for v in one) / count for one in drawn) / len(drawn)
    at_random = sum(sum(one.count(v) / count for v in one) / count for one in drawn) / len(drawn)
    assert commonest_stored_value(count, values) == pytest.approx(commonest)
    assert random_stored_value(count, values) == pytest.approx(at_random)


@pytest.mark.parametrize("memory", MEMORIES)
def test_a_measured_point_names_its_lines(memory):
    point = memory_point(memory, 4, 6, trials=3)
    assert point.linear_bound == pytest.approx(1 - 4 / 6, abs=1e-4)
    assert 0 <= point.recall <= 1


def test_the_selective_model_depends_on_no_later_step():
    torch.manual_seed(0)
    model, x = SelectiveSSM(8, 4), torch.randn(2, 6, 8)
    changed = x.clone()
    changed[:, 4] += 1
    before, after = model(x), model(changed)
    assert torch.allclose(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 5], after[:, 5])
