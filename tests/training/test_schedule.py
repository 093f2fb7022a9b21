"""The learning rate rises, then falls to nothing."""

import pytest

from course_utils.training.schedule import warm_up


def test_the_warm_up_rises_to_one_and_falls_to_nothing():
    factor = warm_up(10, 100)
    assert factor(1) == pytest.approx(0.1)
    assert factor(10) == pytest.approx(1.0)
    assert max(map(factor, range(1, 101))) == pytest.approx(1.0)
    assert 0 < factor(100) < 0.02


def test_steps_beyond_the_total_have_no_rate_below_zero():
    assert warm_up(2, 5)(20) == 0.0
