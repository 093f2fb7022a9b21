"""The hunt for false passes: right answers with one thing changed as students do, each refused."""

import tomllib

import pytest

from autograder.selftest import MUTANTS
from autograder.solutions import setup_source, solution_source
from course_utils import register
from course_utils.checks import judge
from course_utils.notebook import judge_here

HUNTS = {path.parent.name: path for path in sorted(MUTANTS.glob("*/hunt.toml"))}
ALL = [
    (exercise, edit)
    for exercise, path in HUNTS.items()
    for edit in tomllib.loads(path.read_text(encoding="utf-8"))["edit"]
]
FEWEST = 10


def cases(key: str) -> list:
    found = [(exercise, edit) for exercise, edit in ALL if key in edit]
    return [pytest.param(*pair, id=f"{pair[0]}: {pair[1]['name']}") for pair in found]


@pytest.fixture(scope="module")
def before():
    """What each answer builds on: setup cells and earlier answers, run once for each exercise."""
    found: dict[str, dict] = {}

    def names(exercise: str) -> dict:
        if exercise not in found:
            entry = register.exercise(exercise)
            namespace: dict = {}
            exec(setup_source(entry.notebook), namespace)
            answers = [e for e in register.exercises(entry.notebook) if e.kind == "code"]
            for other in answers[: answers.index(entry)]:
                exec(solution_source(other.id), namespace)
            found[exercise] = namespace
        return dict(found[exercise])

    return names


@pytest.mark.parametrize("exercise, edit", cases("old"))
def test_a_wrong_answer_is_refused(exercise, edit, before):
    source = solution_source(exercise)
    changed = source.replace(edit["old"], edit["new"])
    assert changed != source, "the solution has changed: bring this edit up to date"
    namespace = before(exercise)
    exec(changed, namespace)
    assert not judge_here(judge.make_plan(exercise), namespace).passed


def typed_right(exercise: str) -> dict:
    """What a right answer of typed numbers defines; a retired one is in the bank only."""
    namespace: dict = {}
    if register.exercise(exercise).retired:
        exec((MUTANTS / exercise / "right_typed.py").read_text(encoding="utf-8"), namespace)
    else:
        exec(solution_source(exercise), namespace)
    assert judge_here(judge.make_plan(exercise), namespace).passed
    return namespace


@pytest.mark.parametrize("exercise, edit", cases("then"))
def test_what_is_typed_wrong_is_refused_and_not_named_falsely(exercise, edit):
    namespace = typed_right(exercise)
    exec(edit["then"], namespace)
    verdict = judge_here(judge.make_plan(exercise), namespace)
    said = " ".join([verdict.sentence, *(f.message for f in verdict.findings)])
    assert not verdict.passed
    assert verdict.misconception == edit.get("named", ""), said
    assert edit["says"] in said


@pytest.mark.parametrize("exercise", [e.id for e in register.exercises() if e.checked])
def test_every_exercise_has_enough_new_answers(exercise):
    assert len(tomllib.loads(HUNTS[exercise].read_text(encoding="utf-8"))["edit"]) >= FEWEST
