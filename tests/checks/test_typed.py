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
        (
            "single-query-numbers",
            "wrong_one_decimal",
            "scores",
            "It is right only to 1 decimal: write 3 decimals.",
        ),
        (
            "single-query-numbers",
            "wrong_whole_numbers",
            "scores",
            "right only to the nearest whole number: write 3 decimals.",
        ),
        ("single-query-numbers", "wrong_does_not_sum", "probabilities", "They sum to 0.971"),
        ("single-query-numbers", "wrong_no_scale", "probabilities", "follow from your `scores`"),
        ("self-attention-numbers", "wrong_does_not_sum", "P", "Row 2 sums to 0.900"),
        (
            "self-attention-numbers",
            "wrong_does_not_sum",
            "Z",
            "follow from your `P`: correct that first",
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


TWO_ROWS = """
Q = [[-2.25, 4.5], [1.25, 2], [..., ...], [..., ...]]
P = [[0, 0, 0.002, 0.998], [0.597, 0.001, 0.401, 0], [...] * 4, [...] * 4]
Z = [[-0.752, -1.507], [-2.296, -6.587], [..., ...], [..., ...]]
"""
ONE_VECTOR = "scores = {}\nprobabilities = [...] * 4\noutput = [...] * 3"


@pytest.mark.parametrize(
    "changed, array, said",
    [
        (
            "P[:2] = [[0, 0, 0, 1.0], [0.6, 0, 0.4, 0]]",
            "P",
            "`P`: row 1 is not right yet. Look at column 3: you have 0. It is right only to 1 decimal: write 3 decimals.",
        ),
        ("P[1][2] = 0.301", "P", "you have 0.301. Row 2 sums to 0.899, and weights sum to 1."),
        (
            "P[1] = [0.5, 0.1, 0.4, 0]\nZ[1] = [-2.025, -5.85]",
            "Z",
            "It does follow from your `P`: correct that first.",
        ),
        ("P[:2] = [[0, 0.597, 0.015, 0], [0, 0.001, 0, 0.002]]", "P", "It is transposed"),
        ("Q[1] = [1.25, ...]", "Q", "`Q`: row 1 is right so far. Fill in 1 more row."),
        ("Q[:2] = [[-2.25, ...], [..., 2]]", "Q", "`Q`: right so far. Fill in 2 rows."),
        ("Q = Q[:2]", "Q", "`Q` should keep its 4 rows, but it has 2. Leave the dots"),
    ],
)
def test_two_rows_with_dots_elsewhere_are_read_like_a_whole_table(changed, array, said):
    namespace: dict = {}
    exec(f"{TWO_ROWS}\n{changed}", namespace)
    verdict = judge_here(judge.make_plan("self-attention-numbers"), namespace)
    message = next(f.message for f in verdict.findings if f.name.startswith(array))
    assert said in message
    assert "empty" not in message, "two rows are enough"


def test_an_empty_table_is_asked_for_two_rows_not_for_all_its_places():
    namespace: dict = {}
    exec(f"{TWO_ROWS}\nZ = [[..., ...]] * 4", namespace)
    verdict = judge_here(judge.make_plan("self-attention-numbers"), namespace)
    assert verdict.findings[-1].message == "`Z` is still empty: fill in 2 rows."


@pytest.mark.parametrize("form", ["{}", "tuple({})", "tuple(map(tuple, {}))"])
def test_two_right_rows_are_enough(form):
    namespace: dict = {}
    exec(TWO_ROWS + "".join(f"\n{n} = {form.format(n)}" for n in "QPZ"), namespace)
    assert judge_here(judge.make_plan("self-attention-numbers"), namespace).passed


@pytest.mark.parametrize(
    "scores, said",
    [
        ("[3.182, ..., ..., ...]", "`scores`: number 1 is not right yet: you have 3.182."),
        ("[..., 0, 2.6, ...]", "you have 2.6. It is right only to 1 decimal: write 3 decimals."),
        ("[2.598, ..., ..., ...]", "`scores`: right so far. Other places are still empty."),
        ("[..., ..., ..., ...]", "`scores` still has empty places"),
    ],
)
def test_a_number_is_checked_while_others_are_missing(scores, said):
    """The notebook promises it: leave the dots, and the rest is checked all the same."""
    namespace: dict = {}
    exec(ONE_VECTOR.format(scores), namespace)
    verdict = judge_here(judge.make_plan("single-query-numbers"), namespace)
    assert said in verdict.findings[0].message and verdict.points == 0


def test_a_symmetric_table_is_never_called_transposed():
    table = np.array([[0.7, 0.3], [0.3, 0.7]])
    assert reading(table, table + 0.001, True) == ""


def test_no_reading_tells_the_right_number():
    right = practice.solve("self-attention", practice.numbers())["P"]
    for wrong in (right.T, np.round(right, 1), right * 0.9):
        said = reading(right, wrong, True)
        assert said and not any(f"{value:.3f}" in said for value in right.ravel() if value > 0.01)
