"""From a loop to a module in notebook 03: every step on the way answers what a student writes."""

import jupytext
import pytest
import torch
from torch import nn

from autograder.build import SOURCES
from autograder.solutions import solution

CELLS = [
    cell.source
    for cell in jupytext.read(SOURCES / "03_attention.py").cells
    if cell.cell_type == "code"
]
STUB = """    # first the scores, [B, T, S]
    weights = None  # the softmax of the scores over the source
    context = None  # [B, T, D]
"""


def cell_with(text: str) -> str:
    (found,) = (source for source in CELLS if text in source)
    return found


@pytest.fixture
def after_the_loop(capsys):
    """What a kernel knows after step 1."""
    torch.manual_seed(0)
    known: dict = {"torch": torch, "nn": nn}
    exec(cell_with("def in_a_loop"), known)
    assert capsys.readouterr().out == "contexts (2, 4, 3) weights (2, 4, 5)\n"
    return known


@pytest.mark.parametrize(
    ("lines", "contexts", "weights"),
    [
        ("weights = context = None", "not written yet", "not written yet"),
        (
            "weights = torch.softmax(query @ states.transpose(1, 2), dim=-1)\n"
            "    context = weights @ states",
            "the same",
            "the same",
        ),
        (
            "weights = torch.softmax(query @ states.transpose(1, 2), dim=1)\n"
            "    context = weights @ states",
            "they differ by up to ",
            "they differ by up to ",
        ),
        (
            "weights = torch.softmax(states @ query.transpose(1, 2), dim=-1)\n    context = None",
            "not written yet",
            "the shape is [2, 5, 4], but should be [2, 4, 5]",
        ),
    ],
    ids=["nothing", "right", "wrong axis", "transposed"],
)
def test_the_batch_is_compared_with_the_loop(after_the_loop, capsys, lines, contexts, weights):
    cell = cell_with("def all_at_once")
    assert STUB in cell
    exec(cell.replace(STUB, f"    {lines}\n"), after_the_loop)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"contexts: {contexts}")
    assert second.startswith(f"weights: {weights}")


def test_the_join_of_one_step_is_what_the_module_does_at_that_step(after_the_loop, capsys):
    exec(cell_with("end_to_end ="), after_the_loop)
    assert capsys.readouterr().out == "joined [6] result [3]\n"
    module = solution("dot-prod-attention", "DotProdAttention")(3)
    module.output = after_the_loop["layer"]
    joined, _ = module(after_the_loop["queries"], after_the_loop["states"])
    one = torch.tanh(after_the_loop["layer"](after_the_loop["end_to_end"]))
    torch.testing.assert_close(joined[0, 0], one)
