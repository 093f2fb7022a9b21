"""A part of an earlier notebook is used where it passes its check, and never costs points."""

import ast

import nbformat
import pytest
import torch
from torch import nn

from autograder import build
from autograder import run_notebooks as running
from autograder.solutions import setup_source, solution_source
from course_utils import bring_your_own, own, register
from course_utils.checks import judge
from course_utils.notebook import judge_here
from course_utils.transformer import MultiHeadAttention, in_torchs_names, recording

ATTENTION, MASK = "MultiHeadAttention", "causal_mask"
RIGHT = solution_source("multi-head-attention")
WRONG = RIGHT.replace("* d**-0.5", "* D**-0.5")


@pytest.fixture(autouse=True)
def nothing_brought():
    yield
    for name in own.PARTS:
        own.forget(name)


def notebook(pasted: str = "", name: str = ATTENTION) -> dict:
    """The names of a notebook in which this was pasted into the first cell."""
    names = {"__name__": "__main__", "own": own, "bring_your_own": bring_your_own}
    exec(setup_source("06_transformer"), names)
    exec(compile(pasted, "pasted", "exec"), names)
    exec(f"bring_your_own({name!r})", names)
    return names


def points(exercise: str, names: dict) -> float:
    return judge_here(judge.make_plan(exercise, judge.VISIBLE_SEEDS[:1]), names).points


def test_without_anything_pasted_pytorchs_own_is_used(capsys):
    names = notebook()
    assert isinstance(names[ATTENTION](8, 2), nn.MultiheadAttention)
    said = capsys.readouterr().out
    assert (
        said
        == "MultiHeadAttention: using PyTorch's nn.MultiheadAttention, because you pasted nothing.\n"
    )


def test_a_right_class_is_used_and_the_notebook_says_so(capsys):
    names = notebook(RIGHT)
    assert set(dict(names[ATTENTION](8, 2).named_children())) == {"W_Q", "W_K", "W_V", "W_O"}
    assert "using yours. It passes its check from notebook 05." in capsys.readouterr().out
    exec(f"bring_your_own({ATTENTION!r})", names)
    assert capsys.readouterr().out == "MultiHeadAttention: using yours.\n"


@pytest.mark.parametrize(
    ("pasted", "named"),
    [
        (WRONG, "scale"),
        (RIGHT.replace("check_mask(", "look_at("), "Paste what it calls as well"),
        ("MultiHeadAttention = 3", "should be a class"),
    ],
)
def test_a_wrong_class_is_not_used_and_what_is_wrong_is_said(pasted, named, capsys):
    names = notebook(pasted)
    said = capsys.readouterr().out
    assert "yours is not right yet, so this uses PyTorch's nn.MultiheadAttention." in said
    assert named in said
    assert isinstance(names[ATTENTION](8, 2), nn.MultiheadAttention)


@pytest.mark.parametrize("name", [notebook.name for notebook in register.notebooks()])
def test_a_part_pasted_as_it_was_written_finds_all_that_it_calls(name, tmp_path, capsys):
    """Students copy the cell of their answer, without what its notebook imports at the top."""
    build.write_source_tree(tmp_path, [name])
    path = tmp_path / "source" / name / f"{name}.ipynb"
    brought = running.bring_own_parts(path)
    names = {"__name__": "__main__", "budget": "smoke"}
    for cell in nbformat.read(path, as_version=4).cells:
        if "setup" in cell.metadata.get("tags", []) or "\nbring_your_own(" in cell.source:
            exec(compile(cell.source, name, "exec"), names)
    said = capsys.readouterr().out
    assert [own.is_own(part) for part in brought] == [True] * len(brought), said
    assert bool(brought) == ("bring_your_own" in names)
    at_home = {own.PARTS[part].exercise for part in brought}
    for origin in {register.exercise(exercise).notebook for exercise in at_home}:
        missing = imported(setup_source(origin)) - imported(setup_source(name))
        assert missing <= {"practice"}  # the numbers of 01, which no answer needs


def imported(source: str) -> set[str]:
    found = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Import | ast.ImportFrom))
    return {alias.asname or alias.name for node in found for alias in node.names}


def test_a_class_that_was_right_and_is_wrong_now_is_put_aside():
    names = notebook(RIGHT)
    exec(WRONG, names)
    exec(f"bring_your_own({ATTENTION!r})", names)
    assert not own.is_own(ATTENTION)


@pytest.mark.parametrize("exercise", ["encoder-layer", "decoder-layer", "transformer"])
@pytest.mark.parametrize("pasted", ["", RIGHT, WRONG])
def test_what_was_brought_changes_no_check_of_a_layer(exercise, pasted):
    names = notebook(pasted)
    for answer in ("encoder-layer", "decoder-layer", "transformer"):
        exec(solution_source(answer), names)
    assert points(exercise, names) == 4
    inside = names["EncoderLayer"](8, 2, 16).attention
    assert isinstance(inside, MultiHeadAttention) == (pasted != RIGHT)


@pytest.mark.parametrize("name", own.PARTS)
def test_a_stand_in_is_no_answer_to_its_exercise(name):
    exercise = own.PARTS[name].exercise
    imported = {name: own.part(name)}
    wrapped = {"stand_in": own.stand_in(name)}
    exec(f"def {name}(*args): return stand_in(*args)", wrapped)
    taken = {name: own.stand_in(name)}
    most = 0.25 * register.exercise(exercise).points  # refusing 4 heads of 10 is a property too
    for names in (imported, wrapped, taken):
        assert points(exercise, names) <= (most if name == ATTENTION else 0)


def test_parts_that_nobody_wrote_still_do_their_work():
    mask, rows = own.part(MASK)(3), own.part("positional_encoding")(4, 6)
    assert mask.tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert rows.shape == (4, 6) and not rows.requires_grad and len(rows.unique(dim=0)) == 4
    Q, K, V = torch.randn(5, 3), torch.randn(5, 3), torch.randn(5, 2)
    by_matrices = torch.softmax(Q @ K.T / 3**0.5, dim=-1) @ V
    torch.testing.assert_close(own.part("attention_by_hand")(Q, K, V), by_matrices)
    with pytest.raises(KeyError, match="There are: attention_by_hand"):
        own.part("Attention")


@pytest.mark.parametrize("pasted", ["", RIGHT])
def test_maps_are_recorded_whoever_wrote_the_attention(pasted):
    names = notebook(pasted)
    exec(solution_source("encoder-layer"), names)
    stack = nn.Sequential(names["EncoderLayer"](8, 2, 16), names["EncoderLayer"](8, 2, 16))
    x = torch.randn(3, 5, 8)
    with recording(stack) as maps:
        stack(x)
    assert list(maps) == ["0.attention", "1.attention"]
    torch.testing.assert_close(maps["0.attention"][0].sum(-1), torch.ones(3, 2, 5))
    stack(x)
    assert len(maps["0.attention"]) == 1


def test_the_names_of_a_students_attention_become_pytorchs():
    names = notebook(RIGHT)
    mine, theirs = names[ATTENTION](12, 3), nn.MultiheadAttention(12, 3, batch_first=True)
    theirs.load_state_dict(in_torchs_names(mine.state_dict()))
    x = torch.randn(2, 6, 12)
    torch.testing.assert_close(mine(x, x, x)[0], theirs(x, x, x)[0])
    assert in_torchs_names(theirs.state_dict()).keys() == theirs.state_dict().keys()
