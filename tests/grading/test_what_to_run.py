"""Which cells are run, and that one bad answer does not cost another its points."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from autograder.box import Box, Limits, Outcome, why_unavailable
from autograder.grading.clean import OWN_OUTPUT, clean_notebook
from autograder.grading.grade import Task, draw_seeds, grade
from autograder.grading.releases import release_notebook
from autograder.grading.verdict import BoxFailed
from autograder.grading.what_to_run import (
    RunnableCell,
    cells_for,
    cells_to_run,
    checked_exercises,
    modules_for,
)
from tests.grading.handing_in import RIGHT

needs_box = pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces")
AVERAGE = "def weighted_average(weights, values):\n    return weights @ values / weights.sum()"


def answer_cell(source, exercise):
    return new_code_cell(source, metadata={"nbgrader": {"grade_id": exercise, "solution": True}})


def check_cell(exercise, points):
    marks = {"grade_id": f"{exercise}-check", "grade": True, "solution": False, "points": points}
    return new_code_cell("", metadata={"nbgrader": marks})


def two_exercises(average, attention):
    return new_notebook(
        cells=[
            new_code_cell("import torch\nfrom torch import nn", metadata={"tags": ["setup"]}),
            new_code_cell("train_for_an_hour()"),
            answer_cell(average, "weighted-average"),
            check_cell("weighted-average", 1),
            answer_cell(attention, "dot-prod-attention"),
            check_cell("dot-prod-attention", 8),
        ]
    )


def test_setup_and_answers_are_run_and_nothing_else():
    cells = cells_to_run(two_exercises(AVERAGE, RIGHT))
    assert [cell.answer for cell in cells] == ["", "weighted-average", "dot-prod-attention"]
    assert not any("train_for_an_hour" in cell.source for cell in cells)


def test_checked_exercises_are_those_with_a_check_that_the_judge_knows():
    notebook = two_exercises(AVERAGE, RIGHT)
    notebook.cells.append(check_cell("something-else", 5))
    assert checked_exercises(notebook) == ("weighted-average", "dot-prod-attention")


def test_an_answer_is_run_alone_with_what_it_builds_on():
    cells = (
        RunnableCell("import torch"),
        RunnableCell("def scores(q, k): return q @ k", "one"),
        RunnableCell("while True: pass", "two"),
        RunnableCell("def attend(q, k): return softmax(scores(q, k))", "three"),
        RunnableCell("def softmax(x): return x.softmax(-1)", "four"),
    )
    chosen = [cell.answer for cell in cells_for("three", cells)]
    assert chosen == ["", "one", "three", "four"]


def test_a_cell_that_is_not_python_is_left_out_of_the_others_runs():
    cells = (
        RunnableCell("x = 1"),
        RunnableCell("def f(:", "one"),
        RunnableCell("def g(): return 1", "two"),
    )
    assert [cell.answer for cell in cells_for("two", cells)] == ["", "two"]


@pytest.fixture(scope="module")
def box():
    with Box(workers=2, limits=Limits(wall_seconds=6, cpu_seconds=3)) as box:
        yield box


@needs_box
@pytest.mark.box
@pytest.mark.parametrize(
    "bad",
    [
        "import os; os._exit(0)",
        "while True: pass",
        "import signal; signal.signal(26, signal.SIG_IGN)\nwhile True: pass",
        "class DotProdAttention(nn.Module):\n    def __init__(self, n):\n        while True: pass",
    ],
)
def test_a_fatal_answer_does_not_cost_the_points_of_another(bad, box):
    seeds = draw_seeds(["weighted-average", "dot-prod-attention"])
    grades = grade(Task("ann", two_exercises(AVERAGE, bad), seeds), box)
    points = {answer.verdict.exercise: answer.verdict.points for answer in grades.answers}
    assert points == {"weighted-average": 1, "dot-prod-attention": 0}


@needs_box
@pytest.mark.box
def test_the_same_seeds_give_the_same_verdict(box):
    wrong = RIGHT.replace("torch.tanh", "torch.sin")
    seeds = draw_seeds(["weighted-average", "dot-prod-attention"])
    one = grade(Task("ann", two_exercises(AVERAGE, wrong), seeds), box)
    two = grade(Task("ann", two_exercises(AVERAGE, wrong), seeds), box)
    said = [[f.message for f in a.verdict.findings] for g in (one, two) for a in g.answers]
    assert said[:2] == said[2:]


def test_a_box_that_fails_gives_nobody_a_grade():
    class Broken:
        limits = Limits()

        def run(self, job, seconds):
            return Outcome("refused", None, "no namespaces today", "")

    seeds = draw_seeds(["weighted-average", "dot-prod-attention"])
    with pytest.raises(BoxFailed, match="no namespaces today"):
        grade(Task("ann", two_exercises(AVERAGE, RIGHT), seeds), Broken())


def test_graded_cells_lose_their_outputs_and_others_keep_text_marked_as_the_students():
    notebook = two_exercises(AVERAGE, RIGHT)
    for cell in notebook.cells:
        cell.outputs = [nbformat.v4.new_output("stream", name="stderr", text="BLEU 31")]
    clean_notebook(notebook)
    assert notebook.cells[3].outputs == []
    assert [o.text for o in notebook.cells[1].outputs] == [OWN_OUTPUT, "BLEU 31"]
    assert all(o.name == "stdout" for c in notebook.cells for o in c.outputs)
    again = nbformat.v4.writes(clean_notebook(notebook))
    assert again == nbformat.v4.writes(clean_notebook(nbformat.v4.reads(again)))


def test_what_an_assignment_imports_of_the_course_is_made_ready_for_it():
    assert "course_utils.transformer.check_mask" in modules_for(
        release_notebook("05_self_attention")
    )
    assert "course_utils.transformer.check_mask" not in modules_for(
        release_notebook("03_attention")
    )
