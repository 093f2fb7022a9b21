"""The eight challenges: each can be solved, none is solved at the start, none by a known error."""

import re

import numpy as np
import pytest

from course_utils.editor.attention_state import new_state
from course_utils.editor.numbers import BadNumber
from course_utils.editor.presets import KEYS
from course_utils.widgets import CHALLENGES, ChallengeResult, attention_editor, challenge_result
from course_utils.widgets.attention_picture import distance_shown

LARGE = 40.0


def answers() -> dict[str, dict]:
    """One way to solve each challenge."""
    look_back = np.zeros((4, 4))
    look_back[[1, 2, 3], [0, 1, 2]] = LARGE
    one_key = np.zeros((4, 4))
    one_key[3, 0] = 30
    return {
        "copy-one": {"Q": np.stack([LARGE * KEYS[2], np.zeros(4)])},
        "average-two": {"Q": np.stack([np.zeros(4), LARGE * (KEYS[0] + KEYS[2])])},
        "copy-everywhere": {"K": one_key},
        "mean-of-all": {"K": np.zeros((4, 4))},
        "running-mean": {"mask": np.tri(4)},
        "half-weight": {"temperature": 2.38},
        "look-back": {"W_Q": look_back},
        "two-heads-noise": {"Q": LARGE * KEYS[:1], "Q2": LARGE * KEYS[1:2]},
    }


def test_there_are_eight_challenges_and_an_answer_to_each():
    assert len(CHALLENGES) == 8
    assert set(answers()) == set(CHALLENGES)


@pytest.mark.parametrize("name", CHALLENGES)
def test_no_challenge_is_solved_at_the_start(name):
    result = CHALLENGES[name].judge(CHALLENGES[name].begin())
    assert not result.solved and result.distance > 5 * result.tolerance


@pytest.mark.parametrize("name", CHALLENGES)
def test_each_challenge_has_a_solution(name):
    assert challenge_result(name, **answers()[name]).solved


@pytest.mark.parametrize("size", [0.5, 1, 2, 3, 5, 10, 20, 40])
def test_one_query_in_both_heads_does_not_survive_the_noise(size):
    query = size * (KEYS[:1] + KEYS[1:2])
    result = challenge_result("two-heads-noise", Q=query, Q2=query)
    assert result.distance > 5 * result.tolerance


def test_the_normalised_query_is_not_enough_for_the_mean_of_two():
    query = (KEYS[0] + KEYS[2]) / np.sqrt(2)
    result = challenge_result("average-two", Q=[np.zeros(4), query])
    assert not result.solved


def test_what_a_challenge_fixes_can_not_be_edited():
    state = new_state(CHALLENGES["copy-one"].begin())
    with pytest.raises(BadNumber, match="fixed in this challenge: change Q"):
        state.set_cell("K", 0, 0, "9")
    with pytest.raises(BadNumber, match="fixed"):
        state.set_mask("causal")
    state.set_cell("Q", 0, 0, "9")
    assert state.setup.matrices["Q"][0, 0] == 9


def test_the_distance_shrinks_on_the_way_to_the_goal():
    distances = [
        challenge_result("copy-one", Q=np.stack([c * KEYS[2], np.zeros(4)])).distance
        for c in (0, 2, 5, 10, 20)
    ]
    assert distances == sorted(distances, reverse=True)


def test_a_solution_found_in_the_editor_is_kept_and_can_be_taken_over():
    editor = attention_editor(challenge="copy-one")
    assert not editor.challenge_result().solved and editor.solved == {}
    for column, value in enumerate(LARGE * KEYS[2]):
        editor._field("Q", 0, column).value = str(value)
    result = editor.challenge_result()
    assert result.solved and "Solved" in editor.picture.value
    editor._field("Q", 0, 1).value = "-100"
    assert not editor.challenge_result().solved
    kept = editor.solved["copy-one"]
    np.testing.assert_array_equal(kept.answer["Q"][0], LARGE * KEYS[2])
    assert challenge_result("copy-one", **kept.answer).solved


@pytest.mark.parametrize("name", CHALLENGES)
def test_the_copied_code_of_a_challenge_rebuilds_it_where_it_was_left(name):
    editor = attention_editor(challenge=name, **answers()[name])
    editor._copy.value = True
    found: dict = {}
    exec(editor._code.value, found)
    again = found["editor"]
    assert again.state.challenge.name == name and list(again.solved) == [name]
    assert again.challenge_result().distance == editor.challenge_result().distance


def test_a_solved_challenge_shows_its_line_and_keeps_it_while_others_are_tried():
    editor = attention_editor(challenge="mean-of-all")
    assert editor._answers.layout.display == "none" and editor.answers_as_code() == ""
    for i in range(4):
        for j in range(4):
            editor._field("K", i, j).value = "0"
    zeros = "[" + ", ".join(["[0, 0, 0, 0]"] * 4) + "]"
    line = f'challenge_answers["mean-of-all"] = {{"K": {zeros}}}'
    assert editor._answers.layout.display == "" and editor._answers.value == f"{line}\n"
    assert "Copy the line above" in editor.picture.value
    assert "challenge_answers[" in editor.html and "challenge_answers[" not in editor.picture.value
    editor._challenge.value = "running-mean"
    editor._mask.value = "causal"
    mask = "[[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]"
    assert editor._answers.value.splitlines() == [
        line,
        f'challenge_answers["running-mean"] = {{"mask": {mask}}}',
    ]
    assert editor._answers.value.endswith("}\n")  # the next line starts as a line
    editor._mask.value = "none"
    assert "running-mean" in editor._answers.value


@pytest.mark.parametrize("excess", [1e-3, 1e-5, 1e-9, 1e-15])
def test_an_unsolved_distance_never_looks_like_the_goal(excess):
    result = ChallengeResult("copy-one", 0.01 + excess, 0.01, {})
    assert not result.solved and float(distance_shown(result)) > 0.01
    assert distance_shown(ChallengeResult("copy-one", 0.01, 0.01, {})) == "0.01"


def test_the_editor_shows_that_a_distance_just_above_the_goal_is_above_it():
    lower, upper = 2.3, 2.5  # a temperature that solves the challenge, and one that doesn't
    for _ in range(30):
        middle = (lower + upper) / 2
        solved = challenge_result("half-weight", temperature=middle).solved
        lower, upper = (middle, upper) if solved else (lower, middle)
    picture = attention_editor(challenge="half-weight", temperature=upper).picture.value
    shown = re.search(r"Distance ([\d.]+)<", picture)[1]
    assert shown.startswith("0.0100") and float(shown) > 0.01


@pytest.mark.parametrize("value", [0.1, 1 / 3, -2.5e-7, 123456.789012345, 1e6, -0.0])
def test_the_line_holds_every_digit_of_the_answer(value):
    """An answer just within the tolerance stays within it."""
    queries = np.full((2, 4), value)
    line = challenge_result("copy-one", Q=queries).line()
    found: dict = {"challenge_answers": {}}
    exec(line, found)
    np.testing.assert_array_equal(found["challenge_answers"]["copy-one"]["Q"], queries)


@pytest.mark.parametrize(
    ("name", "answer", "says"),
    [
        ("nothing", {}, "copy-one"),
        ("copy-one", {"K": KEYS}, "takes Q"),
        ("copy-one", {"Q": [[1, 2]]}, "2 by 4"),
        ("copy-one", {"Q": np.full((2, 4), np.nan)}, "NaN"),
        ("half-weight", {"temperature": 0}, "0.01"),
        ("half-weight", {"temperature": float("nan")}, "0.01"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_in_a_sentence(name, answer, says):
    with pytest.raises(ValueError, match=says):
        challenge_result(name, **answer)
