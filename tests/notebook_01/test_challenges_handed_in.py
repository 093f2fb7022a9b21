"""Challenges of the attention editor as a graded answer: the judge measures each goal itself."""

import ast
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder import selftest
from autograder.solutions import solution, solution_source
from course_utils.checks.exercises import editor_challenges
from course_utils.widgets import CHALLENGES, attention_editor, challenge_result
from tests.notebook_01.answers import verdict

EXERCISE = "editor-challenges"
MUTANTS = selftest.mutants(EXERCISE)


@cache
def right_answers() -> dict:
    """Those of the source; reading it takes a while."""
    return solution(EXERCISE)


def handed_in(**changes):
    """The verdict on the solution's answers with some of them changed; None leaves one out."""
    answers = dict(right_answers())
    for name, answer in changes.items():
        answers[name.replace("_", "-")] = answer
    kept = {name: answer for name, answer in answers.items() if answer is not None}
    return verdict(EXERCISE, {"challenge_answers": kept})


def message(found, name: str) -> str:
    return next(f.message for f in found.findings if f"({name})" in f.name)


def test_the_answers_in_the_source_are_plain_numbers_and_get_all_points():
    """Nothing but literals: they mean the same where no editor and no browser is."""
    statements = ast.parse(solution_source(EXERCISE)).body
    for statement in statements:
        ast.literal_eval(statement.value)
    assert handed_in().points == 2


def test_lines_copied_from_an_editor_get_all_points():
    editor = attention_editor(challenge="copy-one")
    for name, answer in right_answers().items():
        editor._challenge.value = name
        for part, value in answer.items():
            if part == "mask":
                editor._mask.value = "causal"
            elif part == "temperature":
                editor._temperature.value = str(value)
            else:
                for (row, column), number in np.ndenumerate(np.array(value)):
                    editor._field(part, row, column).value = str(number)
    namespace = {"challenge_answers": {}}
    exec(editor._answers.value, namespace)
    assert set(namespace["challenge_answers"]) == set(CHALLENGES)
    assert verdict(EXERCISE, namespace).passed


def random_answer(name: str, rng: np.random.Generator, size: float) -> dict:
    """Something near the way to a goal: the solution, scaled, with a little noise."""
    found = {}
    for part, value in right_answers()[name].items():
        value = np.array(value, dtype=float)
        if part == "temperature":
            found[part] = float(rng.uniform(1.5, 4))
        elif part == "mask":
            found[part] = np.where(rng.random(value.shape) < 0.05, 1 - value, value)
        else:
            found[part] = size * value + rng.choice([0, 0.02]) * rng.standard_normal(value.shape)
    return found


@pytest.mark.parametrize("name", CHALLENGES)
@given(seed=st.integers(0, 10**9), size=st.sampled_from([-1.0, 0.0, 0.2, 0.5, 1.0, 3.0]))
@settings(max_examples=15, deadline=None)
def test_the_judge_and_the_editor_agree_on_every_distance(name, seed, size):
    answer = random_answer(name, np.random.default_rng(seed), size)
    shown = challenge_result(name, **answer)
    arrays = {part: np.asarray(value, dtype=float) for part, value in answer.items()}
    measured = editor_challenges.measure(name, arrays)
    assert measured.distance == pytest.approx(shown.distance, abs=1e-9)
    earned = verdict(EXERCISE, {"challenge_answers": {name: answer}}).points
    assert earned == (0.25 if shown.solved else 0)


def test_a_near_miss_says_which_challenge_how_far_and_which_row():
    mask = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1]]
    found = handed_in(running_mean={"mask": mask}, half_weight={"temperature": 2.5})
    assert found.points == 1.5
    assert message(found, "running-mean") == (
        "Row 3 of the output is off by 0.5; the goal allows 0.01."
    )
    assert message(found, "half-weight") == (
        "The largest weight of row 1 is 0.487, off by 0.013; the goal allows 0.01."
    )
    (drawn,) = [f for f in found.findings if f.expected is not None]
    assert np.abs(drawn.expected - drawn.got).argmax() // 2 == 2


def test_all_rows_that_are_off_are_named_the_worst_first():
    keys = [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [5, 0, 0, 0]]
    said = message(handed_in(copy_everywhere={"K": keys}), "copy-everywhere")
    assert said.startswith("Row 2 of the output is off by") and ", and row 1 too;" in said


def test_the_noise_is_that_of_the_editor():
    found = handed_in(two_heads_noise={"Q": [[3, 3, 3, 3]], "Q2": [[3, -3, 3, -3]]})
    shown = challenge_result("two-heads-noise", Q=[[3, 3, 3, 3]], Q2=[[3, -3, 3, -3]]).distance
    assert f"Over 200 draws row 1 is off by {shown:.3g}" in message(found, "two-heads-noise")


def test_what_is_said_of_an_answer_counts_for_nothing():
    zeros = {"Q": [[0] * 4] * 2, "solved": True, "distance": 0.0}
    assert handed_in(copy_one=zeros).points == 1.75


def test_each_challenge_counts_by_itself():
    assert handed_in(look_back=None).points == 1.75
    found = verdict(EXERCISE, {"challenge_answers": {"half-weight": {"temperature": 2.38}}})
    assert found.points == 0.25
    assert message(found, "copy-one") == '`challenge_answers["copy-one"]` is missing.'


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (2.38, "should be a dict"),
        ({}, "is missing"),
        ({"Q": "abc"}, "is text"),
        ({"Q": None}, "is nothing"),
        ({"Q": [[1, 2], [3]]}, "different lengths"),
        ({"Q": [[1, 2, 3, 4]]}, "2 by 4"),
        ({"Q": [[float("nan")] * 4] * 2}, "outside the range from -1,000,000 to 1,000,000"),
        ({"Q": [[1e308] * 4] * 2}, "outside the range from -1,000,000 to 1,000,000"),
    ],
)
def test_odd_things_in_a_place_get_a_sentence_and_the_others_count(answer, says):
    found = handed_in(copy_one=answer)
    assert found.points == 1.75 and says in message(found, "copy-one")


@pytest.mark.parametrize("namespace", [{}, {"challenge_answers": {}}, {"challenge_answers": 3}])
def test_nothing_handed_in_is_said_once(namespace):
    found = verdict(EXERCISE, namespace)
    assert found.points == 0 and len({f.message for f in found.findings}) == 1
    assert "`challenge_answers`" in found.findings[0].message


def test_a_mask_that_hides_a_whole_row_gives_zeros_and_no_nan():
    mask = [[0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    found = handed_in(running_mean={"mask": mask})
    assert message(found, "running-mean").startswith("Row 1 of the output is off by 1;")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.path.stem)
def test_every_mutant_is_judged_as_its_name_says(mutant):
    names: dict = {}
    exec(compile(mutant.path.read_text(encoding="utf-8"), str(mutant.path), "exec"), names)
    found = verdict(EXERCISE, names)
    assert found.passed == mutant.right
    assert found.misconception == mutant.misconception
