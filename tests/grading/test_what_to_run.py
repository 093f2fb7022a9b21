"""Which cells are run, and that one bad answer does not cost another its points."""

import copy

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from autograder.box import Box, Limits, Outcome, why_unavailable
from autograder.grading.clean import OWN_OUTPUT, clean_notebook
from autograder.grading.grade import Task, draw_seeds, grade
from autograder.grading.record import SubmissionRecord
from autograder.grading.releases import release_notebook
from autograder.grading.verdict import BoxFailed, with_verdicts
from autograder.grading.what_to_run import (
    RunnableCell,
    cells_for,
    cells_to_run,
    checked_exercises,
    modules_for,
)
from autograder.paths import ROOT
from autograder.whole_class.grade_class import Options, grade_class
from course_utils.checks import wire
from tests.grading.handing_in import RIGHT, cell_of

needs_box = pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces")
MUTANTS = ROOT / "autograder" / "mutants"
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


class SlowBox:
    """In the place of the box: each answer takes its time, on a clock that nobody waits for."""

    limits = Limits()

    def __init__(self, needs, monkeypatch):
        self.needs, self.now = needs, 0.0
        monkeypatch.setattr("autograder.grading.grade.time.monotonic", lambda: self.now)

    def run(self, job, seconds):
        needed = sum(self.needs.get(answer, 0) for answer in job.answers)
        self.now += min(needed, seconds)
        if needed > seconds:
            return Outcome("timeout", None, f"It was stopped after {seconds:g} s.", "")
        return Outcome("ok", wire.pack_response({}), "", "")


@pytest.mark.parametrize(
    ("average", "attention", "ends"),
    [
        (3, 39, {"weighted-average": "ok", "dot-prod-attention": "ok"}),
        (35, 35, {"weighted-average": "ok", "dot-prod-attention": "ok"}),
        (1, 41, {"weighted-average": "ok", "dot-prod-attention": "timeout"}),
        (39, 39, {"weighted-average": "budget", "dot-prod-attention": "budget"}),
        (41, 41, {"weighted-average": "budget", "dot-prod-attention": "budget"}),
        (2, 999, {"weighted-average": "ok", "dot-prod-attention": "timeout"}),
    ],
)
def test_slow_answers_share_the_time_that_their_submission_has(
    average, attention, ends, monkeypatch
):
    box = SlowBox({"weighted-average": average, "dot-prod-attention": attention}, monkeypatch)
    seeds = draw_seeds(["weighted-average", "dot-prod-attention"])
    apart = RIGHT.replace("weights", "alpha")  # neither answer uses a name of the other
    grades = grade(Task("ann", two_exercises(AVERAGE, apart), seeds), box)
    assert {answer.exercise: answer.box for answer in grades.answers} == ends
    assert box.now <= box.limits.together_seconds + 1e-6
    record = with_verdicts(SubmissionRecord("r", "ann", "00", "x"), grades, "r", {})
    flagged = [name for name, box_said in ends.items() if box_said == "budget"]
    assert [flag.exercise for flag in record.flags] == flagged
    assert all(f.source == "box" and "together may take 120 s" in f.text for f in record.flags)


@needs_box
@pytest.mark.box
@pytest.mark.slow
def test_a_submission_whose_answers_are_slow_but_allowed_is_stopped_and_flagged(tmp_path):
    """Each answer ends within the limit of one run; together they take more than a submission may."""
    release = release_notebook("00_start_here")
    checked = checked_exercises(release)
    for student, delay in (("ann", 0), ("bob", 0), ("slow", 4)):
        notebook = copy.deepcopy(release)
        for exercise in checked:
            answer = (MUTANTS / exercise / "right_loop.py").read_text(encoding="utf-8")
            cell_of(notebook, exercise).source = f"import time\ntime.sleep({delay})\n{answer}"
        path = tmp_path / "in" / student / "00_start_here.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(nbformat.writes(notebook), encoding="utf-8")
    limits = Limits(wall_seconds=6, together_seconds=8, alone_seconds=0.5)
    options = Options(
        "00_start_here", (tmp_path / "in",), tmp_path / "course", jobs=2, limits=limits
    )
    run, records = grade_class(options)
    found = {record.student: record for record in records}
    assert run.submissions == run.graded == 3
    for honest in ("ann", "bob"):
        assert found[honest].points == found[honest].max_points and not found[honest].flags
    assert found["slow"].points == 0
    assert [flag.exercise for flag in found["slow"].flags] == list(checked)
    assert all("together may take 8 s" in flag.text for flag in found["slow"].flags)
    assert {problem.student for problem in run.problems} == {"slow"}


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
