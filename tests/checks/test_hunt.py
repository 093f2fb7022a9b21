"""The hunt for false passes: solutions with one thing changed as students do, each refused."""

import tomllib

import pytest

from autograder.selftest import MUTANTS
from autograder.solutions import setup_source, solution_source
from course_utils import register
from course_utils.checks import judge
from course_utils.notebook import judge_here

HUNTS = {path.parent.name: path for path in sorted(MUTANTS.glob("*/hunt.toml"))}
EDITS = [
    pytest.param(exercise, edit, id=f"{exercise}: {edit['name']}")
    for exercise, path in HUNTS.items()
    for edit in tomllib.loads(path.read_text(encoding="utf-8"))["edit"]
]
FEWEST = 10


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


@pytest.mark.parametrize("exercise, edit", EDITS)
def test_a_wrong_answer_is_refused(exercise, edit, before):
    source = solution_source(exercise)
    changed = source.replace(edit["old"], edit["new"])
    assert changed != source, "the solution has changed: bring this edit up to date"
    namespace = before(exercise)
    exec(changed, namespace)
    assert not judge_here(judge.make_plan(exercise), namespace).passed


@pytest.mark.parametrize("exercise", HUNTS)
def test_every_hunt_has_enough_new_answers(exercise):
    assert len(tomllib.loads(HUNTS[exercise].read_text(encoding="utf-8"))["edit"]) >= FEWEST
