"""What an answer may use is read from its text; the register decides, and the verdict says so."""

import pytest

from autograder import build, selftest
from autograder.box import Box, Job, inside, why_unavailable
from autograder.grading.record import flag_of
from autograder.grading.refusals import with_refusals
from autograder.grading.verdict import exercise_record, judge_outcome
from autograder.paths import SOURCES
from course_utils import register
from course_utils.checks import judge, may_use, wire
from course_utils.checks.may_use import refusal
from course_utils.notebook import check

REFUSES = ("MultiheadAttention", "practice.solve", "scoring.")


@pytest.mark.parametrize(
    "answer",
    [
        "layer = nn.MultiheadAttention(4, 2)",
        "layer = torch.nn.modules.activation.MultiheadAttention(4, 2)",
        "from torch.nn import MultiheadAttention as Mine",
        "class Mine(nn.MultiheadAttention): pass",
        "layer = getattr(nn, 'MultiheadAttention')",
        "%time layer = nn.MultiheadAttention(4, 2)",
        "found = practice.solve('columns', numbers)",
        "from course_utils.by_hand.practice import solve",
        "context = scoring.mix(scores, states)",
        "from course_utils.recurrent.scoring import mix",
        "import course_utils",
        "from course_utils.language_model import joined_mask",
    ],
)
def test_what_is_refused_is_found_however_it_is_written(answer):
    assert may_use.refused_uses(answer, REFUSES, {"practice", "check_mask"})


@pytest.mark.parametrize(
    "answer",
    [
        "def solve(matrix): return np.linalg.solve(matrix, matrix)",
        "# unlike nn.MultiheadAttention",
        '"""Unlike nn.MultiheadAttention, with loops."""',
        "from course_utils.transformer import check_mask",
        "numbers = practice.my_numbers('ada')",
        "class MultiHeadAttention(nn.Module): pass",
        "this is not Python (",
    ],
)
def test_what_is_only_mentioned_or_written_by_the_student_is_not(answer):
    assert not may_use.refused_uses(answer, REFUSES, {"practice", "check_mask"})


@pytest.mark.parametrize(
    ("answer", "how"),
    [
        ("getattr(nn, 'Multi' + 'head')", "getattr"),
        ("getattr(self, 'layer')", ""),
        ("eval('nn.' + name)", "eval"),
        ("nn.__dict__[name]", "__dict__"),
        ("import importlib", "importlib"),
        ("for part in model.modules(): pass", ""),
        ("torch.compile(model)", ""),
    ],
)
def test_what_the_text_does_not_show_is_named(answer, how):
    assert may_use.is_hidden(answer) == how


@pytest.mark.parametrize("exercise", [e.id for e in register.exercises() if e.checked])
def test_an_imported_answer_is_refused(exercise):
    assert "does not allow" in refusal(exercise, [selftest.imported(exercise)[exercise]])


def test_every_right_answer_of_the_bank_is_allowed():
    right = [m for m in selftest.mutants() if m.right]
    assert right and not [m.path for m in right if refusal(m.exercise, [m.source])]


def test_no_answer_that_the_sources_hold_is_refused():
    answers = []
    for path in sorted(SOURCES.glob("0*.py")):
        for cell in build.read_source(path).cells:
            own = cell.metadata.get("nbgrader", {})
            if own.get("solution") and cell.cell_type == "code":
                answers.append((own["grade_id"], cell.source))
    assert len(answers) > 20
    assert not [name for name, source in answers if refusal(name, [source])]


def test_solvers_are_not_in_the_box(tmp_path):
    inside.copy_course(tmp_path)
    course = tmp_path / "course_utils"
    practice = (course / "by_hand" / "practice.py").read_text()
    assert "def my_numbers" in practice and "def numbers" in practice
    assert "def solve" not in practice and "_columns" not in practice


@pytest.mark.box
@pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces")
def test_the_verdict_on_an_imported_answer_says_why_and_gives_nothing():
    exercise = "weighted-average"
    source = selftest.imported(exercise)[exercise]
    plan = judge.make_plan(exercise, (5,))
    request = wire.pack_request({exercise: plan.flat})
    hidden = source.replace("np.average", 'getattr(np, "aver" + "age")')
    with Box(1) as box:
        judged = judge_outcome(plan, box.run(Job((source,), request)))
        sneaked = judge_outcome(plan, box.run(Job((hidden,), request)))
    assert judged.verdict.points > 0  # without the reading it would have paid
    refused = with_refusals(judged, [source])
    assert refused.verdict.points == 0 and "`np.average`" in refused.message
    assert flag_of(exercise_record(refused)).source == "judge"
    assert with_refusals(sneaked, [hidden]).verdict.points == sneaked.verdict.points
    assert "`getattr`" in flag_of(exercise_record(with_refusals(sneaked, [hidden]))).text


# ---- in the notebook


def run(*cells):
    """The names after some cells were run in a notebook, with IPython's own list of them."""
    names = {"In": ["", *cells], "check": check}
    for cell in cells:
        exec(compile(cell, "<cell>", "exec"), names)
    return names


SETUP = "import numpy as np\nfrom course_utils import check"
USES_AVERAGE = (
    "def weighted_average(weights, values):\n    return np.average(values, axis=0, weights=weights)"
)
ITSELF = "def weighted_average(weights, values):\n    return weights @ values / weights.sum()"
VERDICT = "verdict = check(weighted_average, quiet=True)"


@pytest.mark.parametrize(
    "cells",
    [
        (USES_AVERAGE,),
        ("mean = None", USES_AVERAGE, "other = 1"),
        (
            "from numpy import average as mean",
            "def weighted_average(weights, values): return mean(values, axis=0, weights=weights)",
        ),
        (
            "def helper(w, v): return np.average(v, axis=0, weights=w)",
            "def weighted_average(weights, values): return helper(weights, values)",
        ),
    ],
)
def test_what_the_grade_refuses_the_notebook_refuses_in_the_same_words(cells):
    verdict = run(SETUP, *cells, VERDICT)["verdict"]
    assert verdict.points == 0 and not verdict.passed
    said = refusal("weighted-average", cells)
    assert "does not allow" in said
    assert [finding.message for finding in verdict.findings if finding.message] and all(
        said in finding.message for finding in verdict.findings if finding.message
    )


@pytest.mark.parametrize(
    "cells",
    [
        (ITSELF,),
        (USES_AVERAGE, ITSELF),  # written anew: the last one counts
        (ITSELF, "compared = np.average([1, 2])"),  # used elsewhere, to compare
        ("def other(values): return np.average(values)", ITSELF),
    ],
)
def test_what_an_answer_does_not_use_is_its_students_own_business(cells):
    assert run(SETUP, *cells, VERDICT)["verdict"].passed


def test_without_a_notebook_the_text_comes_from_the_file(tmp_path):
    (tmp_path / "mine.py").write_text(f"import numpy as np\n{USES_AVERAGE}\n")
    names = {"check": check}
    code = compile((tmp_path / "mine.py").read_text(), str(tmp_path / "mine.py"), "exec")
    exec(code, names)
    exec(VERDICT, names)
    assert names["verdict"].points == 0


@pytest.mark.parametrize("name", [path.stem for path in sorted(SOURCES.glob("0*.py"))])
def test_in_a_notebook_that_is_solved_nothing_is_refused(name):
    cells = [
        c.source for c in build.read_source(SOURCES / f"{name}.py").cells if c.cell_type == "code"
    ]
    asked = [e for e in register.exercises(name) if e.checked]
    assert asked
    for entry in asked:
        own = may_use.own_cells(entry.names, cells)
        assert own and not refusal(entry.id, own)


def test_the_names_that_notebooks_give_are_stored_as_they_are():
    assert build.stale_given() == []
    assert "check" in may_use.given_by("03_attention")


def test_a_stored_list_of_names_that_is_old_is_reported(tmp_path):
    (tmp_path / "given.json").write_text("{}")
    assert "autograder build" in build.stale_given(tmp_path / "given.json")[0]
    build.write_given(tmp_path / "given.json")
    assert build.stale_given(tmp_path / "given.json") == []
