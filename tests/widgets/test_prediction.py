"""Predict, then run: the guess is kept, shown beside the result, and never in the way."""

import re
from pathlib import Path

import pytest

from autograder import build
from course_utils.widgets import prediction
from course_utils.widgets.prediction import predict

QUESTION = "How many strings of length 16 come out right?"


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(prediction, "_kept", {})


def percent(**more):
    return predict("length-16", QUESTION, unit="%", low=0, high=100, **more)


def test_a_number_that_was_typed_is_shown_beside_the_result():
    view = percent()
    view._controls["guess"].value = "40"
    shown = view.reveal(97.5)
    assert "40%" in shown.html and "97.5%" in shown.html
    assert shown.words.endswith(
        "Your guess: 40%; what came out: 97.5%. Your guess was 57.5% too low."
    )


def test_a_choice_that_comes_true_is_said_to():
    view = predict("which", "Which learns faster?", ["with", "without"])
    view._controls["guess"].value = "with"
    assert "As you guessed." in view.reveal("with").html
    other = predict("other", "Which learns faster?", ["with", "without"], guess="without")
    assert "Not what you guessed." in other.reveal("with").html


def test_without_a_guess_the_result_is_shown_all_the_same():
    shown = percent().reveal(3)
    assert "3%" in shown.html and "You made no guess this time." in shown.html


def test_a_cell_that_is_run_again_keeps_the_guess_and_its_result():
    percent()._controls["guess"].value = "40"
    again = percent()
    assert again.state.guess == "40" and again._controls["guess"].value == "40"
    again.reveal(97.5)
    assert "97.5%" in percent().picture.value


def test_a_question_that_was_changed_starts_without_a_guess():
    percent()._controls["guess"].value = "40"
    assert predict("length-16", "Another question?", unit="%").state.guess == ""


def test_after_the_result_the_guess_can_not_be_changed():
    view = percent(guess=40)
    view.reveal(97.5)
    assert view._controls["guess"].disabled
    assert percent(guess=97.5).state.guess == "40"


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [("many", "Your guess contains"), ("120", "Your guess is 120"), ("1,5", "Your guess contains")],
)
def test_what_is_no_guess_is_explained_and_not_kept(typed, sentence):
    view = percent(guess=40)
    view._controls["guess"].value = typed
    assert sentence in view._message.value and view.state.guess == "40"


def test_a_result_that_is_none_of_the_choices_is_the_authors_mistake():
    with pytest.raises(ValueError, match="not one of the choices: a, b"):
        predict("which", "Which?", ["a", "b"]).reveal("c")


def test_words_from_the_notebook_are_shown_as_text():
    view = predict("markup", "Is <b>this</b> bold?", ["<i>yes</i>", "no"], guess="<i>yes</i>")
    assert "<b>this" not in view.picture.value and "<i>yes" not in view.picture.value
    assert "&lt;i&gt;yes" in view.reveal("no").html


@pytest.mark.parametrize("number", ["02", "03", "05", "06", "07"])
def test_a_guess_is_asked_for_before_the_experiments_that_surprise(number):
    (path,) = (Path(build.__file__).parent / "source").glob(f"{number}_*.py")
    source = path.read_text(encoding="utf-8")
    asked = re.findall(r"^(\w+) = predict\(", source, re.M)
    assert asked
    for name in asked:
        assert source.index(f"{name}.reveal(") > source.index(f"{name} = predict(")
