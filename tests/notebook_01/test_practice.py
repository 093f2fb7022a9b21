"""Fresh numbers: the same for the same seed, good questions, hints that lead to the solution."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder import oracles
from course_utils.by_hand import practice
from course_utils.checks.wire import Ask

EXERCISES = {
    "single-query": "single-query-numbers",
    "self-attention": "self-attention-numbers",
    "two-heads": "two-heads-numbers",
    "columns": "qkv-mechanics",
}


def oracle(question: str, numbers: practice.Numbers) -> dict[str, np.ndarray]:
    """The arrays by the instructor's loops, which know nothing of practice.py."""
    matrices = {name: getattr(numbers, name) for name in practice.question(question).given}
    ask = Ask("numbers", "value", {"given": matrices})
    return oracles.find(EXERCISES[question]).oracle(ask)


def as_tuple(numbers: practice.Numbers) -> tuple:
    return tuple(a.tobytes() for a in vars(numbers).values())


@pytest.mark.parametrize("question", practice.QUESTIONS)
@given(seed=st.integers(0, 10**9))
@settings(max_examples=25, deadline=None)
def test_the_worked_solution_agrees_with_the_loops(question, seed):
    numbers = practice.numbers(seed)
    expected = oracle(question, numbers)
    for name, array in practice.solve(question, numbers).items():
        np.testing.assert_allclose(array, expected[name], atol=1e-9)


def test_the_course_numbers_give_what_the_documents_print():
    one = practice.solve("single-query", practice.COURSE)
    np.testing.assert_allclose(one["scores"], [2.59807621, 0, 2.59807621, 0], atol=1e-7)
    np.testing.assert_allclose(one["output"], [-1.66342208, 0.8961065, 0.03463117], atol=1e-7)
    whole = practice.solve("self-attention", practice.COURSE)
    np.testing.assert_allclose(whole["Z"][1], [-2.29564869, -6.58686077], atol=1e-7)
    total = practice.solve("two-heads", practice.COURSE)["Z_total"]
    np.testing.assert_allclose(total[1], [8.28741825, 0.14750295, 10.57968068], atol=1e-7)
    columns = practice.solve("columns", practice.COURSE)
    assert columns["raw_scores"].tolist() == [1054, 852, -396]
    assert columns["argmax_output"].tolist() == [23, 46]


def test_a_seed_gives_the_same_numbers_again_and_another_seed_gives_others():
    assert as_tuple(practice.numbers(3)) == as_tuple(practice.numbers(3))
    assert as_tuple(practice.numbers(3)) != as_tuple(practice.numbers(4))


def test_an_id_gives_its_own_numbers_however_it_is_typed():
    assert as_tuple(practice.numbers_of("Ada ")) == as_tuple(practice.numbers_of("ada"))
    assert as_tuple(practice.numbers_of("ada")) != as_tuple(practice.numbers_of("bob"))
    assert practice.numbers_of("") is practice.COURSE
    assert practice.numbers_of(None) is practice.COURSE
    assert len({as_tuple(practice.numbers_of(f"student{i}")) for i in range(40)}) == 40


def is_slip(key: str) -> bool:
    """Not a rounding, which has a colon in its name: a rounding may well change nothing."""
    return "/" in key and ":" not in key


@pytest.mark.parametrize("question", practice.QUESTIONS)
def test_every_slip_can_be_told_from_the_right_answer_for_every_student(question):
    confused = 0
    for i in range(60):
        found = oracle(question, practice.numbers_of(f"student{i}"))
        for key, array in found.items():
            if is_slip(key):
                gap = np.abs(array - found[key.split("/")[1]]).max()
                confused += gap <= 2 * practice.TOLERANCE
    # A slip may by chance not show in one of its arrays (the argmax of query 1 is that of query 2).
    slips = sum(map(is_slip, found)) * 60
    assert confused / slips < 0.06


@pytest.mark.parametrize("question", practice.QUESTIONS)
def test_hints_go_step_by_step_to_the_end(question, capsys):
    task = practice.practise(question, 5)
    said = []
    for _ in range(60):
        task.hint()
        said.append(capsys.readouterr().out)
        if "No more hints" in said[-1]:
            break
    assert len(said) == 2 * len(practice.question(question).steps(task.numbers)) + 1
    assert len(set(said)) == len(said)
    task.solution()
    worked = capsys.readouterr().out
    for name, array in practice.solve(question, task.numbers).items():
        assert f"`{name}`" in worked and practice.latex(array) in worked


def test_checking_says_where_to_look_and_not_what_is_right(capsys):
    task = practice.practise("single-query", 2)
    right = practice.solve("single-query", task.numbers)
    wrong = right["scores"].copy()
    wrong[2] += 0.5
    task.check(scores=wrong, probabilities=right["probabilities"].round(3))
    said = capsys.readouterr().out
    assert "✗ `scores`: 3 of 4 numbers are right. Look at number 3" in said
    assert "✓ `probabilities`" in said
    assert f"{right['scores'][2]:.3f}" not in said
    with pytest.raises(ValueError, match="asks for scores, probabilities, output"):
        task.check(Z=1)


@pytest.mark.parametrize("answer", [None, ..., "text", [..., 1, 2, 3], [[1, 2], [3]], [1, 2]])
def test_an_answer_that_is_no_table_of_numbers_is_told_so(answer):
    said = practice.what_is_off(np.zeros(4), answer)
    assert "not a table of numbers" in said or "this should be" in said


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e300, -2.5])
def test_any_number_can_be_looked_at(number):
    assert f"Look at number 2: you have {number:.6g}." in practice.what_is_off(
        np.zeros(3), [0, number, 0]
    )


def test_a_question_that_does_not_exist_names_those_that_do():
    with pytest.raises(ValueError, match="single-query, self-attention, two-heads, columns"):
        practice.practise("three-heads", 1)


def test_a_second_matrix_and_the_matrix_of_a_second_head_are_both_valid_tex():
    assert practice._symbol("Z_2") == "Z_{2}"
    assert practice._symbol("W_Q2") == "W_Q^{(2)}"
