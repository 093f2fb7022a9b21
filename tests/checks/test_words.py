"""What a check says to a beginner: plain words, and nothing that the answer does not show."""

from pathlib import Path

import pytest

from autograder.selftest import MUTANTS
from course_utils import checks
from course_utils.checks import judge, panel, queries
from course_utils.checks.probes.student_code import as_array
from tests.checks.test_crashes import verdict_on

FOLDER = Path(checks.__file__).parent
TEXTS = {
    p: p.read_text(encoding="utf-8") for p in FOLDER.rglob("*") if p.suffix in (".py", ".toml")
}
# Each was met by a new student, who could make nothing of it.
PUZZLING = ("The same.", "Counts once this holds", "all of it holds", "yours holds", "is right, to")
AVERAGE = "def average_query(keys, a, b):\n    return {}\n"


@pytest.mark.parametrize("words", PUZZLING)
def test_no_check_says_what_puzzled_students(words):
    assert TEXTS and not [path.name for path, text in TEXTS.items() if words in text]


@pytest.mark.parametrize(
    "value, words",
    [
        (["2.598", "0"], "a list with text in it"),
        ("2.598", "text"),
        ([1j], "a list with complex numbers in it"),
        ([[1, 2], [3]], "a list whose rows have different lengths"),
        ([object()], "a list with more than plain numbers in it"),
    ],
)
def test_what_is_no_number_is_called_by_its_usual_name(value, words):
    assert as_array(value) == words


def test_a_query_that_is_half_as_long_is_not_told_of_many_keys():
    verdict = verdict_on(AVERAGE.format("0.5 * (keys[a] + keys[b])"), "average-query")
    assert verdict.misconception == "constant-too-small"
    assert "With 4 keys of size 6" in panel.text(verdict) and "many keys" not in verdict.sentence


def test_no_hint_for_two_keys_mentions_a_key_that_is_not_there():
    for mistake in judge.load("average-query").misconceptions:
        assert "[j]" not in mistake.sentence + mistake.hint and "k_j" not in mistake.hint


@pytest.mark.parametrize(
    "rows", ["keys[a - 1] + keys[b - 1]", "keys[a - 1] + keys[b]", "2 * keys[a] + keys[b - 1]"]
)
def test_a_row_before_the_one_asked_for_is_named(rows):
    source = AVERAGE.format(f"100 * keys.shape[1] ** 0.5 * ({rows})")
    assert verdict_on(source, "average-query").misconception == "another-key"


def test_keys_that_were_asked_for_are_not_called_others():
    """More than two rows, or rows that are taken away, are another mistake."""
    for rows in ("keys.cumsum(0)[max(a, b)]", "keys[a] + keys[b] - keys[a - 1]"):
        source = AVERAGE.format(f"100 * keys.shape[1] ** 0.5 * ({rows})")
        assert verdict_on(source, "average-query").misconception != "another-key"
    assert set(queries.SIZES) == {"few", "square", "many"}


@pytest.mark.parametrize(
    "exercise, name, shown",
    [
        ("causal-mask", "wrong_one_ahead", "(1 means True)"),
        ("greedy-decode", "wrong_writes_on", " 7 "),
    ],
)
def test_truth_values_and_tokens_are_printed_as_whole_numbers(exercise, name, shown):
    source = (MUTANTS / exercise / f"{name}.py").read_text(encoding="utf-8")
    page = panel.text(verdict_on(source, exercise))
    table = page[page.index("expected:") : page.index("Hint:")]
    assert shown in page and table.split() and "." not in table
