"""What a student sees: a panel for every answer, right, wrong or strange, and never a crash."""

import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from torch import nn

from autograder.selftest import MUTANTS
from course_utils import check, notebook, ready, register
from course_utils.checks import judge, panel, probes, wire


def verdict_on(name: str, exercise: str = "dot-prod-attention", seeds=judge.VISIBLE_SEEDS):
    namespace: dict = {}
    exec((MUTANTS / exercise / f"{name}.py").read_text(encoding="utf-8"), namespace)
    return notebook.judge_here(judge.make_plan(exercise, seeds), namespace)


def test_a_right_answer_passes_every_property():
    verdict = verdict_on("right_matmul")
    assert verdict.passed and verdict.points == 8
    assert "everything is right (8 of 8 points)" in panel.text(verdict)


def test_a_wrong_answer_is_told_its_mistake_what_was_expected_and_one_hint():
    verdict = verdict_on("wrong_scaled")
    text = panel.text(verdict)
    assert "divided by the square root of d" in text
    assert "expected:" in text and "yours:" in text
    assert text.count("Hint:") == 1
    assert 0 < verdict.points < 8


@pytest.mark.parametrize("entry", register.exercises(), ids=lambda entry: entry.id)
def test_the_points_of_a_property_are_round(entry):
    if entry.checked:
        properties = judge.load(entry.id).properties
        share = entry.points / sum(one.points for one in properties)
        twentieths = [20 * one.points * share for one in properties]
        assert np.allclose(twentieths, np.round(twentieths))


@pytest.mark.parametrize("seed", range(40))
def test_partial_credit_does_not_hang_on_the_seed(seed):
    """Weights that do not sum to one drive the tanh to 1 on some seeds, where digits are lost."""
    verdict = verdict_on("wrong_exp_only", seeds=(seed,))
    assert verdict.points == 3
    assert verdict.misconception == "exp-without-sum"


def test_the_students_own_lines_are_shown_when_their_code_raises_and_no_others(tmp_path):
    (tmp_path / "answer.py").write_text(
        "from torch import nn\n\n\nclass DotProdAttention(nn.Module):\n"
        "    def __init__(self, hidden_size):\n        super().__init__()\n\n"
        "    def forward(self, query, states):\n        return self.inner(query)\n\n"
        "    def inner(self, x):\n        return x.no_such_thing\n"
    )
    code = (tmp_path / "answer.py").read_text()
    namespace: dict = {}
    exec(compile(code, str(tmp_path / "answer.py"), "exec"), namespace)
    text = panel.text(notebook.judge_here(judge.make_plan("dot-prod-attention"), namespace))
    assert "no_such_thing" in text and "in inner, line 12" in text
    assert "site-packages" not in text and "call.py" not in text


STRANGE = {
    "a string": "x",
    "None": None,
    "three results": (torch.zeros(1), torch.zeros(1), torch.zeros(1)),
    "a dict": {"a": torch.zeros(2)},
    "integers": (torch.zeros(4, 7, 3, dtype=torch.long), torch.zeros(4, 7, 5, dtype=torch.long)),
    "complex numbers": (torch.zeros(4, 7, 3, dtype=torch.cfloat), torch.zeros(4, 7, 5)),
    "NaN": (torch.full((4, 7, 3), torch.nan), torch.full((4, 7, 5), torch.nan)),
    "infinity": (torch.full((4, 7, 3), torch.inf), torch.full((4, 7, 5), torch.inf)),
    "ragged lists": ([[1, 2], [3]], [[1]]),
    "10 GB": (torch.zeros(1).expand(50_000, 50_000), torch.zeros(1)),
    "the meta device": (torch.zeros(2, device="meta"), torch.zeros(2, device="meta")),
    "a sparse tensor": (torch.eye(3).to_sparse(), torch.zeros(1)),
    "a generator": (i for i in range(3)),
}


@pytest.mark.parametrize("what", STRANGE)
def test_strange_results_get_a_message_and_no_points(what):
    class DotProdAttention(nn.Module):
        def __init__(self, hidden_size):
            super().__init__()

        def forward(self, query, states):
            return STRANGE[what]

    verdict = notebook.judge_here(judge.make_plan("dot-prod-attention"), locals())
    assert verdict.points == 0
    assert all(f.message for f in verdict.findings)
    assert "<div" in panel.html(verdict)


class Everything(torch.Tensor):
    """A tensor that claims to equal whatever it is compared with."""

    def __eq__(self, other):
        return True


def test_a_tensor_subclass_is_read_as_the_numbers_it_holds():
    class DotProdAttention(nn.Module):
        def __init__(self, hidden_size):
            super().__init__()

        def forward(self, query, states):
            B, T, D = query.shape
            return (
                torch.zeros(B, T, D).as_subclass(Everything),
                torch.zeros(B, T, states.shape[1]).as_subclass(Everything),
            )

    verdict = notebook.judge_here(judge.make_plan("dot-prod-attention"), locals())
    assert verdict.points == 0 and verdict.misconception == "zero-weights"


def test_an_answer_that_never_ends_is_stopped(monkeypatch):
    monkeypatch.setattr(notebook, "PATIENCE_SECONDS", 1)
    started = time.monotonic()
    verdict = verdict_on("wrong_never_ends")
    assert time.monotonic() - started < 30
    assert verdict.points == 0 and "was stopped" in panel.text(verdict)


def test_what_a_students_error_says_is_escaped():
    class DotProdAttention(nn.Module):
        def __init__(self, hidden_size):
            raise ValueError("<script>alert(1)</script>")

    verdict = notebook.judge_here(judge.make_plan("dot-prod-attention"), locals())
    assert "<script>" not in panel.html(verdict)
    assert "&lt;script&gt;" in panel.html(verdict)


def test_ready_names_the_unfinished_exercise_in_one_line(capsys):
    globals().pop("DotProdAttention", None)
    assert not ready("dot-prod-attention")
    said = capsys.readouterr().out
    assert said.count("\n") == 1 and "DotProdAttention" in said


def test_something_that_no_exercise_asks_for_is_refused_with_a_sentence():
    with pytest.raises(ValueError, match="No exercise asks"):
        check(nn.Linear)
    with pytest.raises(KeyError, match="no exercise called"):
        check("nonsense")


def test_a_missing_package_is_an_error_and_not_a_score_of_nothing():
    code = (
        "import sys\n"
        "sys.modules['course_utils.checks.panel'] = None\n"
        "from course_utils import check\n"
        "check('dot-prod-attention')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ModuleNotFoundError" in done.stderr


def test_the_judge_loads_no_widget_and_draws_nothing():
    code = (
        "import sys\n"
        "from course_utils import register\n"
        "from course_utils.checks import judge, panel\n"
        "for entry in register.ever():\n"
        "    if entry.checked:\n"
        "        judge.load(entry.id)\n"
        "print({'ipywidgets', 'matplotlib', 'IPython'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr


def test_probes_import_nothing_that_knows_an_answer():
    code = (
        "import importlib, pkgutil, sys\n"
        "from course_utils.checks import probes\n"
        "for module in pkgutil.iter_modules(probes.__path__):\n"
        "    importlib.import_module(f'course_utils.checks.probes.{module.name}')\n"
        "known = [m for m in sys.modules if m.startswith('course_utils.checks.')]\n"
        "print([m for m in known if 'probes' not in m and not m.endswith(('axes', 'wire', 'next_words'))])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_every_checked_exercise_of_the_register_has_a_judge():
    for entry in register.ever():
        if entry.checked:
            exercise = judge.load(entry.id)
            assert exercise.id == entry.id
            names = [p.name for p in exercise.properties]
            assert len(names) == len(set(names))
            assert all(need in names for p in exercise.properties for need in p.needs)


def test_stored_arrays_are_what_the_oracles_give():
    from autograder.stored import stored_arrays

    compared = 0
    for entry in register.ever():
        arrays = stored_arrays(entry.id) if entry.checked else None
        if arrays is None:
            continue
        with np.load(judge.STORED / f"{entry.id}.npz") as stored:
            assert set(stored) == set(arrays), entry.id
            for key, array in arrays.items():
                if array.dtype.kind == "U":
                    assert stored[key].tolist() == array.tolist()
                else:
                    np.testing.assert_allclose(stored[key], array, atol=1e-9, err_msg=entry.id)
                compared += 1
    assert compared > 10


def test_a_grade_can_be_repeated_from_its_seeds():
    one, other = (judge.make_plan("dot-prod-attention", (5, 6)) for _ in range(2))
    pack = wire.pack_request
    assert pack({"x": one.flat}) == pack({"x": other.flat})


def test_two_requests_of_different_seeds_differ():
    one, other = (judge.make_plan("dot-prod-attention", (seed,)) for seed in (5, 6))
    assert wire.pack_request({"x": one.flat}) != wire.pack_request({"x": other.flat})


def test_a_missing_reply_earns_nothing():
    plan = judge.make_plan("dot-prod-attention")
    assert judge.verdict(plan, None).points == 0
    assert judge.verdict(plan, []).points == 0


def test_prints_and_warnings_of_an_answer_do_not_reach_the_panel(capsys):
    namespace: dict = {}
    exec(
        (MUTANTS / "dot-prod-attention" / "right_unused_layer_and_prints.py").read_text(), namespace
    )
    frame = probes.answer(
        wire.pack_request({"x": judge.make_plan("dot-prod-attention").flat}), namespace
    )
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err == ""
    assert all(reply.status == "ok" for reply in wire.unpack_response(frame)["x"])


def test_a_share_of_points_is_shown_with_two_decimals():
    finding = judge.Finding("a property", True, 10 / 7, 10 / 7)
    verdict = judge.Verdict("weighted-average", 10 / 7, 10.0, (finding,))
    assert "(1.43 of 1.43)" in panel.text(verdict) and "1.43 of 10 points" in panel.text(verdict)
    assert "1.42857" not in panel.html(verdict)


def test_states_that_are_wrong_are_drawn_as_rows_and_columns(capsys):
    namespace = {
        "check": notebook.check,
        "swapped": lambda states, bottleneck: (states, bottleneck),
    }
    names = register.exercise("state-swap").names
    source = f"{names[0]} = swapped\nverdict = check('state-swap')"
    exec(source, namespace)
    drawn = [f for f in namespace["verdict"].findings if f.expected is not None]
    assert drawn and len(drawn[0].axes) == drawn[0].expected.ndim == 2
    assert "Rows: source position s; columns: component" in panel.html(namespace["verdict"])


def test_questions_are_drawn_once_and_are_the_same_afterwards():
    first = judge.make_plan("beam-search")
    before = wire.pack_request({"beam-search": first.flat})
    verdict_on("right_aside", "beam-search")
    assert judge.make_plan("beam-search") is first
    assert wire.pack_request({"beam-search": first.flat}) == before
    assert judge.make_plan("beam-search", (5,)) is not first


def test_a_part_that_is_missing_does_not_stop_the_check(capsys):
    source = "def dot_score(query, keys):\n    return (keys @ query[:, :, None]).squeeze(-1)\n"
    namespace = {"check": notebook.check}
    exec(source + "verdict = check('attention-with-scores')", namespace)
    assert 0 < namespace["verdict"].points < namespace["verdict"].max_points
    assert "is not defined yet" in capsys.readouterr().out
