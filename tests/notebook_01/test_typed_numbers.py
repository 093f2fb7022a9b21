"""Typed numbers: the digits asked for, empty places, partial credit, numbers of one's own."""

import numpy as np
import pytest

from autograder.grading.releases import release_notebook
from course_utils.by_hand import practice
from course_utils.checks import judge
from tests.notebook_01.answers import verdict

EXERCISES = {
    "single-query-numbers": "single-query",
    "self-attention-numbers": "self-attention",
    "two-heads-numbers": "two-heads",
    "qkv-mechanics": "columns",
}


@pytest.fixture
def own_numbers(monkeypatch):
    """The instructor's switch, on."""
    monkeypatch.setattr(practice, "own_numbers", lambda: True)


def solved(question: str, student: str = "", digits: int = 3) -> dict:
    numbers = practice.numbers_of(student)
    return {n: a.round(digits).tolist() for n, a in practice.solve(question, numbers).items()}


@pytest.mark.parametrize("exercise", EXERCISES)
def test_three_decimals_are_enough_and_two_are_not_always(exercise):
    assert verdict(exercise, solved(EXERCISES[exercise])).passed
    coarse = verdict(exercise, solved(EXERCISES[exercise], digits=1))
    assert coarse.passed == (exercise == "qkv-mechanics")


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_visible_check_needs_nothing_that_only_instructors_have(
    exercise, monkeypatch, own_numbers
):
    monkeypatch.setattr(judge, "_find_hidden", None)
    judge._oracle.cache_clear()
    assert verdict(exercise, solved(EXERCISES[exercise])).passed
    own = verdict(exercise, solved(EXERCISES[exercise], "ada"), student="ada")
    assert own.passed
    assert not verdict(exercise, solved(EXERCISES[exercise], "bob"), student="ada").points


def test_empty_places_cost_only_their_own_points():
    answer = solved("single-query") | {"output": [..., ..., ...]}
    found = verdict("single-query-numbers", answer)
    assert found.points == 1.5
    assert "still has empty places" in found.findings[2].message
    assert verdict("single-query-numbers", {}).points == 0


@pytest.mark.parametrize(
    "typed", ["2.598", None, ..., [], [[1, 2], [3]], [float("nan")] * 4, [1e308 * 10] * 4, {1: 2}]
)
def test_odd_things_in_a_place_get_a_sentence(typed):
    found = verdict("single-query-numbers", solved("single-query") | {"scores": typed})
    assert found.points == 1.5 and "`scores`" in found.findings[0].message


def test_the_message_never_tells_the_right_number():
    found = verdict("self-attention-numbers", solved("self-attention") | {"Z": [[1, 2]] * 4})
    assert found.findings[2].expected is None
    assert "-6.58" not in found.findings[2].message


def test_a_slip_is_named_from_where_it_starts():
    scores = practice.COURSE.X @ practice.COURSE.q
    assert verdict("single-query-numbers", {"scores": scores}).misconception == "no-scale"
    late = solved("single-query") | {"probabilities": (np.exp(scores) / np.exp(scores).sum())}
    assert verdict("single-query-numbers", late).misconception == "softmax-of-raw"


@pytest.mark.parametrize("exercise", EXERCISES)
def test_an_id_changes_nothing_where_the_instructor_has_not_switched_it_on(exercise):
    assert not practice.own_numbers()
    assert verdict(exercise, solved(EXERCISES[exercise]), (7, 8), student="ada").passed
    assert practice.my_numbers("ada") is practice.COURSE


@pytest.mark.parametrize("exercise", EXERCISES)
def test_each_student_can_have_numbers_of_their_own(exercise, own_numbers):
    question = EXERCISES[exercise]
    assert verdict(exercise, solved(question, "ada"), (7, 8), student="Ada").passed
    assert not verdict(exercise, solved(question), (7, 8), student="ada").passed


def test_the_notebook_asks_for_an_id_where_it_needs_one(own_numbers, capsys):
    practice.my_numbers("")
    assert "put your id into `student_id`" in capsys.readouterr().out
    assert practice.my_numbers("ada").q.tolist() == practice.numbers_of("ADA").q.tolist()


def test_the_text_of_the_notebook_agrees_with_the_cell_that_asks_for_an_id():
    cells = release_notebook("01_pen_and_paper").cells
    (text,) = [c.source for c in cells if "**The numbers.**" in c.source]
    assert "If it asks for\nyour id, put it between the quotes" in text
    assert "Otherwise leave `student_id` empty" in text


def test_answers_to_other_numbers_are_flagged(own_numbers):
    course = verdict("self-attention-numbers", solved("self-attention"), (7,), student="ada")
    assert course.misconception == "course-numbers"
    copied = solved("self-attention", "bob") | {"student_id": "bob"}
    other = verdict("self-attention-numbers", copied, (7,), student="ada")
    assert other.misconception == "numbers-of-another-id" and other.points == 0


def test_a_slip_is_named_on_numbers_of_ones_own_too(own_numbers):
    given = practice.numbers_of("ada")
    scores = given.X @ given.q
    found = verdict("single-query-numbers", {"scores": scores.tolist()}, (7,), student="ada")
    assert found.misconception == "no-scale"


def some_rows(question: str, *wanted: int) -> dict:
    """The right answer with dots in all rows but these."""
    return {
        name: [row if i in wanted else [...] * len(row) for i, row in enumerate(rows)]
        for name, rows in solved(question).items()
    }


@pytest.mark.parametrize("wanted", [(0, 1), (1, 3), (0, 2, 3)])
def test_two_rows_of_self_attention_are_enough(wanted):
    assert verdict("self-attention-numbers", some_rows("self-attention", *wanted)).passed


def test_one_row_is_not_enough_and_a_third_must_be_right_too():
    one = verdict("self-attention-numbers", some_rows("self-attention", 2))
    assert one.points == 0 and "row 3 is right so far" in one.findings[0].message
    three = some_rows("self-attention", 0, 1, 2)
    three["Z"][2][0] += 1
    found = verdict("self-attention-numbers", three)
    assert [finding.passed for finding in found.findings] == [True, True, False]
    nothing = verdict("self-attention-numbers", some_rows("self-attention"))
    assert nothing.points == 0 and "still empty: fill in 2 rows" in nothing.findings[0].message


def test_a_slip_in_two_rows_is_named():
    typed = some_rows("self-attention", 1, 2)
    given = practice.COURSE
    raw = (given.X @ given.W_Q) @ (given.X @ given.W_K).T
    weights = np.exp(raw) / np.exp(raw).sum(axis=1, keepdims=True)
    for row in (1, 2):
        typed["P"][row] = weights[row].round(3).tolist()
    assert verdict("self-attention-numbers", typed).misconception == "no-scale"
