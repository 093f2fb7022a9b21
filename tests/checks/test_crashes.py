"""When a student's code raises: the sizes by their letters, its line, and one message first."""

import linecache

import numpy as np
import pytest
import torch

from autograder.solutions import setup_source, solution_source
from course_utils import notebook, register
from course_utils.checks import crashes, judge, panel
from course_utils.checks.probes import call

SIZES = {"B": 4, "T": 7, "D": 3, "S": 5}
CRASHES = """
import torch
from torch import nn


class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()

    def forward(self, query, states):
        return query * states, None
"""
# no input of theirs is a tensor with axes that have names
WITHOUT_TENSORS = {"collapse-blanks", "beam-search", "gpt2-weights"}


def verdict_on(source: str, exercise: str = "dot-prod-attention"):
    """The verdict on an answer with lines that a traceback can show, as in a notebook."""
    namespace: dict = {}
    name = "<cell of a student>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), namespace)
    return notebook.judge_here(judge.make_plan(exercise), namespace)


def test_an_error_comes_with_its_line_and_the_sizes_by_their_letters():
    text = panel.text(verdict_on(CRASHES))
    assert "The size of tensor a (7) must match the size of tensor b (5)" in text
    assert "in forward, line 11: return query * states, None" in text
    assert "Here B = 4, T = 7, D = 3, S = 5. In the error, 7 is T, 5 is S." in text


@pytest.mark.parametrize("as_page", [panel.text, panel.html])
def test_an_error_is_said_once_and_the_properties_that_wait_are_one_line(as_page):
    verdict = verdict_on(CRASHES)
    page = as_page(verdict)
    assert page.count("The size of tensor a") == 1
    assert page.count("Waiting for this: ") == 1 and "Waiting for: " not in page
    assert page.count("✗") == 1
    first, last = verdict.findings[0].name, verdict.findings[-1].name
    assert page.index("The size of tensor a") < page.index(first) < page.index(last)


def test_what_failed_for_another_reason_keeps_its_own():
    verdict = verdict_on(
        "def dot_score(*_):\n    return None\n\n\n"
        "def linear_score(*_):\n    return None\n\n\n"
        "def additive_score(*_):\n    return None\n\n\n"
        "def attention(*_):\n    raise ValueError('no waves')\n",
        "attention-with-scores",
    )
    stopped = [f for f in verdict.findings if f.stopped]
    others = [f for f in verdict.findings if not f.stopped]
    text = panel.text(verdict)
    assert stopped and others and not any(f.passed for f in verdict.findings)
    assert text.count("no waves") == 1 + text.count("raise ValueError('no waves')")
    assert others[0].message in text
    assert all(f.name in text for f in verdict.findings)


def test_the_line_that_raised_is_named_however_deep_it_is():
    deep = "        return self.down(9)\n\n    def down(self, n):\n" + (
        "        if n == 0:\n            return 1 / 0\n        return self.down(n - 1)\n"
    )
    text = panel.text(verdict_on(CRASHES.replace("        return query * states, None\n", deep)))
    assert "in down, line 15: return 1 / 0" in text


def test_an_answer_that_is_not_written_gets_no_sizes():
    stub = CRASHES.replace("return query * states, None", "raise NotImplementedError()")
    text = panel.text(verdict_on(stub))
    assert "It is not implemented yet." in text and "Here B" not in text


@pytest.mark.parametrize(
    ("error", "read"),
    [
        ("The size of tensor a (4) must match the size of tensor b (3) at dimension 2", ["4 is B", "3 is D"]),
        ("mat1 and mat2 shapes cannot be multiplied (28x3 and 5x9)", ["28 is B·T", "3 is D", "5 is S"]),
        ("Expected size to be: [4, 3] but got: [4, 5].", ["4 is B", "3 is D", "5 is S"]),
        ("shape '[4, 6]' is invalid for input of size 84", ["4 is B"]),
        ("operands could not be broadcast together with shapes (4,7) (5,)", ["4 is B", "7 is T", "5 is S"]),
        ("(size 4 is different from 3)", ["4 is B", "3 is D"]),
        ("forward() takes 3 positional arguments but 4 were given", []),
        ("Dimension out of range (expected to be in range of [-3, 2], but got 3)", []),
    ],
)  # fmt: skip
def test_only_numbers_that_are_sizes_are_read(error, read):
    assert crashes.numbers_read(error, SIZES) == read


def test_a_size_that_two_axes_share_is_not_read():
    assert crashes.numbers_read("tensor a (4) and tensor b (3)", {**SIZES, "S": 4}) == ["3 is D"]


def test_a_heads_share_of_the_features_is_read():
    sizes = {"B": 2, "T": 4, "D": 6, "S": 5, "num_heads": 2}
    assert crashes.numbers_read("tensor a (3)", sizes) == ["3 is D/num_heads"]


@pytest.mark.parametrize(
    "exercise",
    [e.id for e in register.exercises() if e.kind == "code" and e.id not in WITHOUT_TENSORS],
)
def test_every_exercise_with_tensors_names_its_sizes(exercise):
    entry = register.exercise(exercise)
    asks = judge.make_plan(exercise).flat
    assert all(crashes.axes(entry.signature, ask) for ask in asks)


def test_arguments_of_a_constructor_are_sizes_too():
    ask = judge.make_plan("single-query-attention").flat[0]
    signature = register.exercise("single-query-attention").signature
    assert crashes.axes(signature, ask) == {
        "B": 10,
        "dec": 3,
        "S": 6,
        "2*enc": 4,
        "enc_hid_dim": 2,
        "kq_dim": 5,
    }


def test_gradients_of_a_result_without_values_are_not_asked_for():
    class OnNoDevice(torch.nn.Module):
        def forward(self, query):
            return query.to("meta")

    options = {
        "target": "Answer",
        "init": [],
        "args": [np.ones((2, 3))],
        "upstream": [np.ones((2, 3))],
    }
    reply = call.run({"Answer": OnNoDevice}, options)
    assert reply.notes["gradient_error"] == "The result is on the device meta."


NOT_SET_UP = """
from torch import nn


class Scorer(nn.Module):
    def __init__(self, d_model, size):
        self.hidden = nn.Linear(d_model, size)
"""


def test_a_module_without_its_first_line_is_told_which_line_that_is():
    verdict = verdict_on(NOT_SET_UP, "first-module")
    assert verdict.sentence == "`__init__` creates a layer before the module is set up."
    assert verdict.hint == "Begin `__init__` with `super().__init__()`."


def test_both_results_of_attention_where_one_is_needed_are_named():
    answer = solution_source("encoder-layer").replace("looked, _ = ", "looked = ")
    source = f"{setup_source('06_transformer')}\n\n{answer}".replace(
        "self.dropout(looked)", "looked"
    )
    verdict = verdict_on(source, "encoder-layer")
    assert verdict.sentence.startswith("A tensor meets a tuple") and "[0]" in verdict.hint


def test_where_products_are_forbidden_nobody_is_told_to_transpose():
    verdict = verdict_on(
        "def attention_by_hand(Q, K, V):\n    return Q @ K @ V\n", "attention-by-hand"
    )
    assert verdict.sentence.startswith("In a product, [L, d] meets [L, d]: two matrices")
    assert "transpose" not in panel.text(verdict) and "one key at a time" in verdict.hint
