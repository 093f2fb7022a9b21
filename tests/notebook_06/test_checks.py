"""The checks of notebook 06: right answers pass, wrong ones are named."""

from pathlib import Path

import numpy as np

from autograder.solutions import solution
from course_utils.checks import judge
from course_utils.notebook import judge_here
from course_utils.register import exercises

ANSWERS = {n: solution(e.id, n) for e in exercises("06_transformer") if e.checked for n in e.names}


def verdict(exercise: str, names: dict, seeds=(11,)):
    return judge_here(judge.make_plan(exercise, seeds), names)


def test_other_names_than_those_given_are_told():
    names = dict(ANSWERS)
    good = names["EncoderLayer"]

    class EncoderLayer(good):
        def __init__(self, *sizes):
            super().__init__(*sizes)
            self.other = self.attention
            del self.attention

    found = verdict("encoder-layer", {"EncoderLayer": EncoderLayer})
    assert found.points == 0
    assert "keep the names given" in found.findings[0].message


def test_a_decoder_that_never_ends_is_stopped_by_its_step():
    def greedy_decode(step, first, end, max_length):
        tokens = first[:, None]
        while True:
            step(tokens)

    found = verdict("greedy-decode", {"greedy_decode": greedy_decode})
    assert found.points == 0
    assert "more than 60 times" in found.findings[0].message


def test_what_ships_about_the_bugs_does_not_spell_the_answers_out():
    stored = judge._stored("find-the-bug")
    assert stored
    assert all(array.dtype == "uint8" for array in stored.values())
    shipped = Path(judge.__file__).parents[1] / "transformer"
    assert not (shipped / "bugs.py").exists()
    assert "nn.Module" not in (shipped / "suspects.py").read_text(encoding="utf-8")


def test_the_oracle_takes_its_slopes_between_the_corners_of_a_relu():
    """Drawn with this seed, a unit of the feed-forward network changes its sign within 1e-5."""
    from autograder.oracles.blocks import slopes
    from autograder.oracles.decoder_layer import outputs
    from course_utils.checks.exercises.decoder_layer import asks

    found = [
        slopes(outputs, ask)
        for ask in asks(np.random.default_rng(877))
        if "directions" in ask.options
    ]
    assert any(np.allclose(pair, [-4.259886, 1.606541], atol=1e-4) for pair in found)
