"""What an answer may use is read from its text; the register decides, and the verdict says so."""

import pytest

from autograder import build, selftest
from autograder.box import Box, Job, inside, why_unavailable
from autograder.grading.record import flag_of
from autograder.grading.refusals import refusal, with_refusals
from autograder.grading.verdict import exercise_record, judge_outcome
from autograder.paths import SOURCES
from course_utils import register
from course_utils.checks import judge, may_use, wire

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
