"""The exhaustive search behind the beam search's check, and what drawing questions needs."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_utils.checks.exercises.beam_search import END, START, best_of_all
from course_utils.checks.next_words import next_words


def tried_one_by_one(table, max_length, penalty, prefix=(START,), total=0.0):
    """(score, tokens) of every sequence, by walking down the tree of prefixes."""
    for word, value in enumerate(next_words(prefix, table)):
        longer, sum_ = (*prefix, word), total + value
        if word == END or len(longer) > max_length:
            yield sum_ / (len(longer) - 1) ** penalty, list(longer[1:])
        else:
            yield from tried_one_by_one(table, max_length, penalty, longer, sum_)


@given(
    seed=st.integers(0, 2**32 - 1),
    words=st.integers(2, 5),
    max_length=st.integers(1, 4),
    penalty=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_the_best_of_all_is_the_best_of_each_tried_by_itself(seed, words, max_length, penalty):
    table = np.random.default_rng(seed).standard_normal((211, words))
    tokens, score = best_of_all(table, max_length, penalty)
    every = list(tried_one_by_one(table, max_length, penalty))
    assert score == pytest.approx(max(every)[0])
    assert any(tokens == other and score == pytest.approx(value) for value, other in every)


def test_questions_are_drawn_and_oracles_found_without_torch():
    """The grader's own process needs none; importing it costs more than grading ten answers."""
    script = """
import sys
import autograder.whole_class.grade_class
from autograder import oracles
from course_utils import register
from course_utils.checks import judge

for exercise in register.exercises():
    if exercise.checked:
        judge.make_plan(exercise.id, student="ann")
        if oracles.has_oracle(exercise.id):
            oracles.find(exercise.id)
assert "torch" not in sys.modules
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
