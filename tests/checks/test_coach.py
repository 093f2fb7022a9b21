"""Help that grows with the same failure, and the line that a pass gets."""

import importlib
import re

import numpy as np
import pytest

from course_utils import notebook, register
from course_utils.checks import coach, judge

NOT_DIVIDED = "def weighted_average(weights, values):\n    return weights @ values\n"
MEAN = "def weighted_average(weights, values):\n    return values.mean(0)\n"
RIGHT = "def weighted_average(weights, values):\n    return weights @ values / weights.sum()\n"
WITH_TEXTS = sorted(coach._all_texts()["exercise"])
TOPICS = coach._all_texts()["mistake"]


@pytest.fixture(autouse=True)
def fresh_kernel():
    coach._failures.clear()
    yield
    coach._failures.clear()


def checked(source: str, capsys, tmp_path) -> tuple[str, judge.Verdict]:
    """What a student sees, and the verdict; the source is a file, so that its form can be read."""
    path = tmp_path / f"cell_{abs(hash(source))}.py"
    path.write_text(source)
    namespace: dict = {"check": notebook.check}
    exec(compile(source, str(path), "exec"), namespace)
    exec("verdict = check('weighted-average')", namespace)
    return capsys.readouterr().out, namespace["verdict"]


def test_the_same_failure_gets_more_each_time_and_the_points_stay(capsys, tmp_path):
    pages, verdicts = zip(*(checked(NOT_DIVIDED, capsys, tmp_path) for _ in range(4)))
    assert "Where to look" not in pages[0] and "A smaller case" not in pages[0]
    assert "Where to look: The text under “Exercise: `weighted_average`” above the cell" in pages[1]
    assert "Σₛ wₛ vₛ / Σₛ wₛ" in pages[1] and "A smaller case" not in pages[1]
    assert "Where to look" in pages[2] and "A smaller case: Weights 1 and 3" in pages[2]
    assert pages[3] == pages[2]
    assert len({verdict.points for verdict in verdicts}) == 1


def test_another_mistake_starts_again(capsys, tmp_path):
    checked(NOT_DIVIDED, capsys, tmp_path)
    assert "Where to look" not in checked(MEAN, capsys, tmp_path)[0]
    assert "Where to look" in checked(NOT_DIVIDED, capsys, tmp_path)[0]


UNWRITTEN = "def weighted_average(weights, values):\n    raise NotImplementedError()\n"
CRASH = "def weighted_average(weights, values):\n    return weights * values\n"
OTHER_CRASH = "def weighted_average(weights, values):\n    return weights.mean(values)\n"


def test_a_first_error_is_a_first_failure_though_the_notebook_was_run_before(capsys, tmp_path):
    """Students run the whole notebook once before they write anything."""
    checked(UNWRITTEN, capsys, tmp_path)
    assert "Where to look" not in checked(CRASH, capsys, tmp_path)[0]
    assert "Where to look" not in checked(OTHER_CRASH, capsys, tmp_path)[0]
    assert "Where to look" in checked(CRASH, capsys, tmp_path)[0]


def test_a_pass_forgets_the_failures_and_says_something_worth_knowing(capsys, tmp_path):
    checked(NOT_DIVIDED, capsys, tmp_path)
    page, verdict = checked(RIGHT, capsys, tmp_path)
    assert verdict.passed and "Worth knowing: Attention is this average" in page
    assert "Where to look" not in checked(NOT_DIVIDED, capsys, tmp_path)[0]


@pytest.mark.parametrize(
    "body, line",
    [
        ("torch.einsum('s,sd->d', weights, values) / weights.sum()", "einsum does it"),
        (
            "sum(values[i] * weights[i] for i in range(len(weights))) / weights.sum()",
            "Attention is",
        ),
        ("(weights[:, None] * values).sum(0) / weights.sum()", "Attention is this average"),
    ],
)
def test_the_line_fits_the_form_of_the_answer(body, line, capsys, tmp_path):
    source = f"import torch\n\n\ndef weighted_average(weights, values):\n    return {body}\n"
    assert line in checked(source, capsys, tmp_path)[0]


def test_a_loop_is_recognised(capsys, tmp_path):
    source = (
        "def weighted_average(weights, values):\n    total = 0\n"
        "    for weight, value in zip(weights, values):\n        total = total + weight * value\n"
        "    return total / weights.sum()\n"
    )
    assert "A loop over the rows is right" in checked(source, capsys, tmp_path)[0]


@pytest.mark.parametrize("joined, first", [("query, context", True), ("context, query", False)])
def test_query_before_context_is_recognised(joined, first, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    name = f"cell_{first}"
    (tmp_path / f"{name}.py").write_text(
        "class DotProdAttention:\n    def forward(self, query, states):\n"
        f"        return torch.cat([{joined}], dim=-1)\n"
    )
    cell = importlib.import_module(name)
    assert coach.insight("dot-prod-attention", vars(cell)).startswith("[s; c] works") is first


@pytest.mark.parametrize("exercise_id", WITH_TEXTS)
def test_every_text_belongs_to_a_checked_exercise_and_is_complete(exercise_id):
    assert register.exercise(exercise_id).checked
    texts = coach._texts(exercise_id)
    assert all(texts[kind].endswith((".", "?", "!")) for kind in ("where", "case", "passed"))
    assert set(texts["forms"]) <= {"einsum", "fused", "loop", "query-first"}


def test_every_exercise_has_texts_but_the_hunt_for_a_bug():
    without = {e.id for e in register.exercises() if e.checked} - set(WITH_TEXTS)
    assert without == {"find-the-bug"}  # its evidence is the help


def test_every_mistake_of_a_topic_is_one_that_some_check_names():
    known = {
        m.name for e in register.exercises() if e.checked for m in judge.load(e.id).misconceptions
    }
    named = [name for topic in TOPICS.values() for name in topic["names"]]
    assert set(named) <= known and len(set(named)) == len(named)


def test_a_mistake_with_its_own_topic_gets_that_case():
    verdict = judge.Verdict("self-attention", 0, 2, (), misconception="no-scale + mask-ignored")
    (_, _), (heading, case) = coach.after(3, verdict)
    assert heading == "A smaller case" and case == TOPICS["scale"]["case"]


def softmax(*scores: float) -> np.ndarray:
    powers = np.exp(scores)
    return powers / powers.sum()


ROOT = 2**0.5
# the numbers that a case states, worked out here
WORKED = {
    "scale": [softmax(2, 0), softmax(1, 0), softmax(0.5, 0)],
    "axis": [softmax(0, 1), softmax(2, 0)],
    "mask": [softmax(1, 2), softmax(1, 2, 3)],
    "attention-by-hand": [softmax(ROOT, 0), ROOT, softmax(ROOT, 0).round(3) @ [10, 20]],
    "copy-query": [softmax(1, 0, 0), softmax(10, 0, 0)],
    "average-query": [softmax(1, 1, 0), softmax(10, 10, 0)],
    "dot-prod-attention": [softmax(2, 0), softmax(2, 0).round(3) @ [[2, 0], [0, 1]]],
    "single-query-attention": [1 / ROOT, softmax(1 / ROOT, 0)],
    "self-attention": [1 / ROOT, softmax(1 / ROOT, 0)],
    "positional-encoding": [np.sin(1), np.cos(1), np.sin(0.01), np.cos(0.01)],
    "attention-with-scores": [softmax(1, 0)],
    "online-softmax": [np.exp(-1), 1 + np.exp(-1), softmax(1, 2)],
    "rotary-positions": [np.cos(1), np.sin(1), -np.cos(2), np.sin(2)],
    "sample-next": [softmax(2, 1, 0), softmax(1, 0.5, 0), softmax(2, 1)],
}


@pytest.mark.parametrize("name", WORKED)
def test_the_numbers_of_a_worked_case_are_right(name):
    case = TOPICS[name]["case"] if name in TOPICS else coach._texts(name)["case"]
    stated = set(re.findall(r"\d\.\d{3}|\d\d\.\d{3}", case))
    worked = {f"{value:.3f}" for array in WORKED[name] for value in np.ravel(array)}
    assert stated == worked


def test_columns_of_the_axis_case_are_right():
    columns = [softmax(0, 2), softmax(1, 0)]
    stated = (
        f"[[{columns[0][0]:.3f}, {columns[1][0]:.3f}], [{columns[0][1]:.3f}, {columns[1][1]:.3f}]]"
    )
    assert stated in TOPICS["axis"]["case"]
