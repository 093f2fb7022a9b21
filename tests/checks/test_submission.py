"""Ready to submit: what is saved, what was run, what is written, and what can't be seen."""

import json
import sys
import types

import pytest

from course_utils import notebook, register, submission
from course_utils.submission import SavedFile

NUMBERS = register.exercise("self-attention-numbers")
CODE = register.exercise("weighted-average")
ANSWER = "def weighted_average(weights, values):\n    return weights @ values / weights.sum()"


def saved(**sources: str) -> SavedFile:
    """A file with the cells of notebook 00 or others, by their ids with underscores."""
    cells = [
        {"metadata": {"nbgrader": {"grade_id": name.replace("_", "-")}}, "source": source}
        for name, source in sources.items()
    ]
    return SavedFile({"cells": cells}, "00_start_here.ipynb")


def told(file: SavedFile, *run: str) -> str:
    return "\n".join(
        submission._problems_of_code(CODE, submission.cell_of(file.content, CODE.id), ["", *run])
    )


def test_what_is_saved_as_it_was_run_is_in_order():
    assert told(saved(weighted_average=ANSWER), ANSWER) == ""


@pytest.mark.parametrize(
    "run", [[ANSWER], ["def weighted_average(weights, values):\n    ...", ANSWER]]
)
def test_work_that_is_not_saved_is_said_with_its_cell(run):
    """Also where the form that is saved was run once, before the answer was written."""
    file = saved(weighted_average="def weighted_average(weights, values):\n    ...")
    assert f"ran last, in cell [{len(run)}]" in told(file, *run)


def test_an_answer_that_a_scratch_cell_overwrites_is_said_with_the_line():
    answer = "Q = 1\nP = [[1, 2]]\nZ = 5"
    history = ["", answer, "print(P)", "for P in range(3):\n    pass", "x = 1"]
    (sentence,) = submission.overwritten(NUMBERS, history)
    assert sentence.startswith("Cell [3] gave `P` another value: `for P in range(3):`.")
    assert list(submission.overwritten(NUMBERS, [*history, answer])) == []


def test_a_definition_that_is_written_again_overwrites_nothing():
    assert list(submission.overwritten(CODE, ["", ANSWER, ANSWER.replace("sum", "mean")])) == []
    (sentence,) = submission.overwritten(CODE, ["", ANSWER, "weighted_average = 3"])
    assert "`weighted_average = 3`" in sentence


def test_names_inside_functions_are_not_the_answers():
    history = ["", "Q = P = Z = 1", "def f():\n    P = 2\n    return P"]
    assert list(submission.overwritten(NUMBERS, history)) == []


def test_a_name_that_only_finds_a_place_is_not_overwritten():
    history = ["", "Q = P = Z = 1", "table[P] = 2\nnames = [Q for Q in names]", "first, *rest = Z"]
    assert list(submission.overwritten(NUMBERS, history)) == []
    (sentence,) = submission.overwritten(NUMBERS, [*history, "(x, P[0]) = 1, 2"])
    assert sentence.startswith("Cell [4] gave `P` another value")


def test_a_failing_check_says_what_was_overwritten(capsys):
    namespace: dict = {"check": notebook.check, "In": ["", ANSWER, "weighted_average = 3"]}
    exec("weighted_average = 3\ncheck('weighted-average')", namespace)
    assert "Overwritten: Cell [2] gave `weighted_average` another value" in capsys.readouterr().out


def test_a_package_that_the_grader_does_not_have_is_named():
    file = saved(weighted_average=f"import einops\nimport math\nfrom torch import nn\n{ANSWER}")
    page = told(file, file.content["cells"][0]["source"])
    assert "imports einops, which the grader does not have" in page
    assert "math" not in page and "torch" not in page


@pytest.mark.parametrize(
    "source, state",
    [
        ("*Write your answer here.*", "to do"),
        ("", "to do"),
        ("## My answer\n\n*Write your answer here.*", "to do"),
        ("*Write your answer here.*\n...\nTODO", "to do"),
        ("*Write your answer here.*\nThe weights stay as they are.", "written"),
    ],
)
def test_a_placeholder_is_no_written_answer(source, state):
    assert submission.written_state("what-rnns-store", saved(what_rnns_store=source)) == state


def test_where_the_file_can_not_be_read_it_is_not_called_in_order():
    file = SavedFile(None, where=" (Colab did not answer)")
    html, text = submission.table("00_start_here", _verdicts("00_start_here"), file, [])
    assert "cannot be read from here (Colab did not answer)" in text and "in order" not in text
    assert "cannot be read from here (Colab did not answer)" in html


@pytest.mark.parametrize(
    "text, in_order", [("*Write your answer here.*", False), ("It is so.", True)]
)
def test_a_file_without_its_written_answers_is_not_called_in_order(text, in_order):
    entry = register.exercise("what-rnns-store")
    exercises = register.exercises(entry.notebook)
    cells = {e.id.replace("-", "_"): "x = 1" if e.checked else "It is so." for e in exercises}
    cells["what_rnns_store"] = text
    file = SavedFile(saved(**cells).content, f"{entry.notebook}.ipynb")
    _, page = submission.table(entry.notebook, _verdicts(entry.notebook), file, [""])
    assert (submission.IN_ORDER in page) == in_order
    assert (f"nothing is written yet for “{entry.title}”." in page) != in_order


def test_a_file_in_order_is_called_so():
    ids = {e.id.replace("-", "_"): "x = 1" for e in register.exercises("00_start_here")}
    _, text = submission.table("00_start_here", _verdicts("00_start_here"), saved(**ids), [""])
    assert submission.IN_ORDER in text


def test_the_list_to_check_oneself_by_comes_once_something_is_written():
    entry = register.exercise("what-rnns-store")
    cells = {e.id.replace("-", "_"): "" for e in register.exercises(entry.notebook)}
    verdicts = _verdicts(entry.notebook)
    question = submission._checklists()[entry.id][0].split('"')[0]
    before = submission.table(entry.notebook, verdicts, saved(**cells), [""])
    cells["what_rnns_store"] = "The weights stay as they are."
    after = submission.table(entry.notebook, verdicts, saved(**cells), [""])
    assert question not in before[1] and question in after[1]
    assert "Check yourself" not in before[0] and "Check yourself" in after[0]


def test_every_list_belongs_to_a_written_exercise_and_every_written_one_has_its_list():
    lists = submission._checklists()
    written = {e.id for e in register.exercises() if not e.checked}
    assert written <= lists.keys()
    assert all(2 <= len(questions) <= 4 for questions in lists.values())
    assert all(question.endswith("?") for questions in lists.values() for question in questions)


def test_the_file_is_found_where_the_server_or_vs_code_says(tmp_path, monkeypatch):
    path = tmp_path / "00_start_here (1).ipynb"
    path.write_text(json.dumps({"cells": []}))
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    assert submission.read("00_start_here", {}).content == {"cells": []}
    found = submission.problems("00_start_here", submission.read("00_start_here", {}), [])
    assert (
        found[0] == "The file is called 00_start_here (1).ipynb. Rename it to 00_start_here.ipynb."
    )
    monkeypatch.delenv("JPY_SESSION_NAME")
    monkeypatch.delenv("PAPERMILL_INPUT_PATH", raising=False)
    assert submission.read("00_start_here", {"__vsc_ipynb_file__": str(path)}).name == path.name
    assert submission.read("00_start_here", {}).content is None
    path.write_text("{")
    assert (
        "can be read" in submission.read("00_start_here", {"__vsc_ipynb_file__": str(path)}).where
    )


def test_colab_is_asked_for_its_notebook_and_its_silence_is_said(monkeypatch):
    colab, message = types.ModuleType("google.colab"), types.ModuleType("google.colab._message")
    message.blocking_request = lambda *_, **__: {"ipynb": {"cells": []}}  # type: ignore[attr-defined]
    colab._message = message  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "google", types.ModuleType("google"))
    monkeypatch.setitem(sys.modules, "google.colab", colab)
    assert submission.read("00_start_here", {}).content == {"cells": []}
    message.blocking_request = lambda *_, **__: None  # type: ignore[attr-defined]
    assert "Colab did not answer" in submission.read("00_start_here", {}).where


def _verdicts(name: str):
    from course_utils.checks import judge

    checked = [e.id for e in register.exercises(name) if e.checked]
    return {e: judge.failed_verdict(e, "not asked") for e in checked}
