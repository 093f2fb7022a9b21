"""Typed numbers: each array is judged by itself, and an unfinished table by its rows."""

import numpy as np
import pytest

from autograder.selftest import mutants
from course_utils.by_hand import practice
from course_utils.checks import judge
from course_utils.checks.typed import reading
from course_utils.notebook import judge_here


def messages(exercise: str, name: str) -> dict[str, str]:
    """What is said about each array of an answer of the bank."""
    source = next(m.source for m in mutants(exercise) if m.path.stem == name)
    namespace: dict = {}
    exec(source, namespace)
    verdict = judge_here(judge.make_plan(exercise), namespace)
    return {f.name.split()[0]: f.message for f in verdict.findings}


@pytest.mark.parametrize(
    "exercise, name, array, said",
    [
        ("single-query-numbers", "wrong_one_decimal", "scores", "All is rounded to 1 decimal."),
        ("single-query-numbers", "wrong_whole_numbers", "scores", "rounded to no decimals."),
        ("single-query-numbers", "wrong_does_not_sum", "probabilities", "They sum to 0.971"),
        ("single-query-numbers", "wrong_no_scale", "probabilities", "follow from your `scores`"),
        ("self-attention-numbers", "wrong_does_not_sum", "P", "Row 2 sums to 0.900"),
        (
            "self-attention-numbers",
            "wrong_does_not_sum",
            "Z",
            "follow from your `P`: mend that first",
        ),
        ("self-attention-numbers", "wrong_map_transposed", "P", "It is transposed"),
        ("self-attention-numbers", "wrong_first_row_only", "P", "row 1 is right so far."),
    ],
)
def test_each_array_is_read_by_itself(exercise, name, array, said):
    assert said in messages(exercise, name)[array]


def test_a_full_row_that_is_wrong_is_said_before_the_others_are_filled():
    source = next(
        m.source for m in mutants("self-attention-numbers") if m.path.stem == "right_typed"
    )
    namespace: dict = {}
    exec(source, namespace)
    namespace["P"] = [[0.5, 0.5, 0, 0], *[[..., ..., ..., ...]] * 3]
    verdict = judge_here(judge.make_plan("self-attention-numbers"), namespace)
    assert verdict.findings[1].message.startswith("`P`: row 1 is not right yet.")


def test_a_symmetric_table_is_never_called_transposed():
    table = np.array([[0.7, 0.3], [0.3, 0.7]])
    assert reading(table, table + 0.001, True) == ""


def test_no_reading_tells_the_right_number():
    right = practice.solve("self-attention", practice.numbers())["P"]
    for wrong in (right.T, np.round(right, 1), right * 0.9):
        said = reading(right, wrong, True)
        assert said and not any(f"{value:.3f}" in said for value in right.ravel() if value > 0.01)
