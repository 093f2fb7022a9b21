"""The answers in the sources get all points, nothing gets none, and mutants what their names say."""

from functools import cache

import pytest

from autograder.selftest import mutants
from autograder.solutions import solution
from course_utils import register
from course_utils.checks import judge
from course_utils.notebook import judge_here

NOTEBOOKS = ("05_self_attention", "06_transformer")
EXERCISES = [e.id for name in NOTEBOOKS for e in register.exercises(name) if e.checked]
MUTANTS = [m for exercise in EXERCISES for m in mutants(exercise)]


@cache
def answers(notebook: str) -> dict:
    checked = [e for e in register.exercises(notebook) if e.checked]
    return {name: solution(e.id, name) for e in checked for name in e.names}


def verdict(exercise: str, names: dict, seeds=(11,)):
    return judge_here(judge.make_plan(exercise, seeds), names)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_answers_in_the_source_get_all_points_on_visible_and_on_fresh_numbers(exercise):
    names = dict(answers(register.exercise(exercise).notebook))
    for seeds in (judge.VISIBLE_SEEDS, (7, 12345)):
        found = verdict(exercise, names, seeds)
        assert found.passed, [f.message for f in found.findings if not f.passed]
        assert found.points == pytest.approx(found.max_points)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_nothing_written_earns_nothing(exercise):
    assert verdict(exercise, {}).points == 0


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m.exercise}/{m.path.stem}")
def test_every_mutant_is_judged_as_its_name_says(mutant):
    names: dict = {}
    exec(compile(mutant.path.read_text(encoding="utf-8"), str(mutant.path), "exec"), names)
    found = verdict(mutant.exercise, names)
    if mutant.right:
        assert found.passed, [f.message for f in found.findings if not f.passed]
        return
    assert not found.passed
    if mutant.misconception:
        assert found.misconception == mutant.misconception
