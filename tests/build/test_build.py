"""The build: the same bytes every time, and a sentence for every source that cannot be built."""

import ast
import json
import re

import pytest
from click.testing import CliRunner
from nbformat.v4 import new_code_cell, new_markdown_cell

from autograder import build
from autograder.cli import main
from autograder.minutes import minutes, minutes_of
from course_utils import register

GOOD = (build.SOURCES / "00_start_here.py").read_text(encoding="utf-8")


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A folder of sources with one notebook, to be broken by a test."""
    monkeypatch.setattr(build, "SOURCES", tmp_path)

    def write(text: str) -> None:
        (tmp_path / "00_start_here.py").write_text(text, encoding="utf-8")

    write(GOOD)
    return write


def test_two_builds_give_the_same_bytes():
    assert build.build(["00_start_here"]) == build.build(["00_start_here"])


def test_every_cell_has_a_stable_id_that_colab_keeps():
    notebook = json.loads(build.build(["03_attention"])["03_attention"])
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(ids) == len(set(ids))
    assert all(cell["metadata"]["id"] == cell["id"] for cell in notebook["cells"])
    assert "dot-prod-attention" in ids


def test_a_cell_that_comes_in_between_changes_no_other_id(sources):
    before = [c.id for c in build.read_source(build.SOURCES / "00_start_here.py").cells]
    sources(
        GOOD.replace(
            "# %% [markdown]\n# ## 2", "# %% [markdown]\n# New.\n\n# %% [markdown]\n# ## 2"
        )
    )
    after = [c.id for c in build.read_source(build.SOURCES / "00_start_here.py").cells]
    assert len(after) == len(before) + 1
    assert [i for i in after if i in before] == before


@pytest.mark.parametrize(
    "address", ["https://github.com/uni/course", "https://github.com/uni/course.git"]
)
def test_a_github_address_gives_a_badge_that_colab_can_open(address, monkeypatch):
    monkeypatch.setattr(register, "repository", lambda: address)
    title = json.loads(build.build(["00_start_here"])["00_start_here"])["cells"][0]["source"]
    assert "/github/uni/course/blob/main/notebooks/00_start_here.ipynb)" in "".join(title)


def closing_text() -> str:
    return build.read_source(build.SOURCES / "00_start_here.py").cells[-2].source


def test_the_next_notebook_can_be_opened_from_the_folder_and_from_colab(monkeypatch):
    """A copy in Drive has no neighbours, so a link to a file beside it leads nowhere there."""
    monkeypatch.setattr(register, "repository", lambda: "https://github.com/uni/course")
    beside, in_colab = closing_text().split("Next: ")[1].split(" ([in Colab]")
    assert beside == "[01 · Attention with pen and paper](01_pen_and_paper.ipynb)"
    assert in_colab.endswith("/github/uni/course/blob/main/notebooks/01_pen_and_paper.ipynb)).")
    monkeypatch.setattr(register, "repository", lambda: "https://gitlab.com/uni/course")
    assert closing_text().endswith(f"Next: {beside}.")


def test_another_address_gives_no_badge_and_the_commands_say_so(monkeypatch, tmp_path):
    monkeypatch.setattr(register, "repository", lambda: "https://gitlab.com/uni/course")
    title = json.loads(build.build(["00_start_here"])["00_start_here"])["cells"][0]["source"]
    assert "colab" not in "".join(title) and "".join(title).startswith("# ")
    monkeypatch.setattr(build, "write", lambda built: None)
    said = CliRunner().invoke(main, ["build", "00_start_here"])
    assert said.exit_code == 0
    assert "no Colab badge" in said.output and "https://gitlab.com/uni/course" in said.output


def test_only_a_notebook_that_trains_has_a_cell_for_the_budget(sources):
    def budgets() -> list[str]:
        cells = build.read_source(build.SOURCES / "00_start_here.py").cells
        return [c.source for c in cells if "parameters" in c.metadata.get("tags", [])]

    assert budgets() == []
    sources(GOOD + "\n\n# %%\nprint(budget)\n")
    assert len(budgets()) == 1


def test_points_come_from_the_register_alone():
    notebook = json.loads(build.build(["03_attention"])["03_attention"])
    points = [
        cell["metadata"]["nbgrader"]["points"]
        for cell in notebook["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade")
    ]
    assert sum(points) == 9


def test_students_get_neither_solutions_nor_hidden_tests_nor_rubrics():
    for text in build.build(["00_start_here", "03_attention"]).values():
        for word in (
            "BEGIN SOLUTION",
            "HIDDEN TESTS",
            "MARK SCHEME",
            "autograder",
            "torch.tanh(self.output",
        ):
            assert word not in text


CHECK_HEADER = '# %% nbgrader={"grade_id": "weighted-average-check", "grade": true}'
BROKEN = {
    "a header that jupytext cannot parse": (
        CHECK_HEADER,
        '# %% nbgrader={"grade_id": "weighted-average-check", "grade": true',
        "header",
    ),
    "a key with a dot": (
        CHECK_HEADER,
        '# %% nbgrader.grade_id="weighted-average-check"',
        "one JSON table",
    ),
    "a duplicate grade_id": (
        CHECK_HEADER,
        '# %% nbgrader={"grade_id": "weighted-average", "grade": true}',
        "more than one cell",
    ),
    "an unknown exercise": (
        CHECK_HEADER,
        '# %% nbgrader={"grade_id": "nonsense", "grade": true}',
        "no exercise called 'nonsense'",
    ),
    "points in a header": (
        CHECK_HEADER,
        '# %% nbgrader={"grade_id": "weighted-average-check", "grade": true, "points": 1}',
        "only in the register",
    ),
    "a missing check cell": (CHECK_HEADER, "# %%", "no cell is called 'weighted-average-check'"),
    "a wrong announcement": ("{{points}}", "7 points", "announces 7 points"),
    "an image without text": ("## 6 How to hand in", "![](x.png)", "no alternative text"),
    "a html image without text": ("## 6 How to hand in", '<img src="x">', "no alternative text"),
    "a link that leads nowhere": ("## 6 How to hand in", "[on](99_x.ipynb)", "leads nowhere"),
    "a solution without its end": ("    ### END SOLUTION\n", "", "no end solution"),
    "a cell that is not Python": (
        "environment_check()\n",
        "environment_check(\n",
        "cell 4, line 1",
    ),
    "a solution outside its cell": (
        "values = torch.tensor(",
        "### BEGIN SOLUTION\nx = 1\n### END SOLUTION\nvalues = torch.tensor(",
        "olution region",
    ),
    "a solution that stands elsewhere too": (
        "environment_check()\n",
        "environment_check()\n\n\ndef f(weights, values):\n    return weights @ values / weights.sum()\n",
        "contains part of a solution",
    ),
    "a placeholder that nothing fills": ("{{minutes}}", "{{nonsense}}", "fills in"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_source_is_refused_with_a_sentence_for(case, sources):
    old, new, said = BROKEN[case]
    assert old in GOOD
    sources(GOOD.replace(old, new, 1))
    with pytest.raises(build.BuildError) as refused:
        build.build(["00_start_here"])
    assert said in str(refused.value)
    assert "00_start_here" in str(refused.value)


def test_a_failed_build_leaves_the_notebooks_as_they_were(sources, tmp_path):
    folder = tmp_path / "notebooks"
    build.write(build.build(["00_start_here"]), folder)
    before = (folder / "00_start_here.ipynb").read_bytes()
    sources(GOOD.replace("{{points}}", "7 points"))
    with pytest.raises(build.BuildError):
        build.write(build.build(["00_start_here"]), folder)
    assert (folder / "00_start_here.ipynb").read_bytes() == before
    assert [p.name for p in folder.iterdir()] == ["00_start_here.ipynb"]


def test_a_stale_notebook_is_named_with_its_cell(tmp_path):
    built = build.build(["00_start_here"])
    assert build.stale(built, tmp_path) == [
        "00_start_here.ipynb is missing. Run `autograder build`."
    ]
    edited = built["00_start_here"].replace("environment_check()", "environment_check( )")
    (tmp_path / "00_start_here.ipynb").write_text(edited, encoding="utf-8")
    (problem,) = build.stale(built, tmp_path)
    assert "00_start_here.ipynb is out of date at cell 5" in problem


def test_typed_answers_keep_their_empty_places_and_raise_nothing():
    notebook = json.loads(build.build(["01_pen_and_paper"])["01_pen_and_paper"])
    cells = {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}
    assert cells["qkv-mechanics"] == "raw_scores = [..., ..., ...]\nargmax_output = [..., ...]"
    assert "raise NotImplementedError()" in cells["attention-by-hand"]


@pytest.mark.parametrize("name", [notebook.name for notebook in register.notebooks()])
def test_the_register_has_the_exercises_in_the_order_of_the_notebook(name):
    """`ready_to_submit`, the routes and the reports list them as a student meets them."""
    cells = build.read_source(build.SOURCES / f"{name}.py").cells
    met = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in cells]
    wanted = [exercise.id for exercise in register.exercises(name)]
    assert [grade_id for grade_id in met if grade_id in wanted] == wanted


@pytest.mark.parametrize("name", build.names())
def test_a_function_has_its_name_alone_so_that_any_cell_can_be_run_again(name):
    """A student who goes back to an earlier cell must not meet a later cell's function there."""
    cells = build.read_source(build.SOURCES / f"{name}.py").cells
    written, brought = [], set()
    for cell in cells:
        tree = ast.parse(
            cell.source if cell.cell_type == "code" and "%pip" not in cell.source else ""
        )
        written += [n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        for node in (n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)):
            brought |= {alias.asname or alias.name for alias in node.names}
    assert len(set(written)) == len(written) and not set(written) & brought


@pytest.mark.parametrize("name", build.names())
def test_an_exercise_is_called_what_its_heading_says(name):
    """A panel, a table and a message then name what the student can find in the notebook."""
    text = (build.SOURCES / f"{name}.py").read_text(encoding="utf-8")
    headings = re.findall(
        r"# ### (?:Exercise|Question): (.+)\n#\n# \{\{exercise ([\w-]+)\}\}", text
    )
    called = {exercise: heading for heading, exercise in headings}
    for exercise in register.exercises(name):
        if exercise.kind != "code":
            assert called[exercise.id] == exercise.title


# A softmax over tokens, and a sum block by block: each is new where it comes.
NO_ATTENTION = {"sample-next", "online-softmax"}


def test_attention_is_written_from_nothing_at_most_four_times():
    """Where it comes up again, the text says which of the student's own lines to begin with."""
    from_nothing, text = [], ""
    for name in build.names():
        for cell in build.read_source(build.SOURCES / f"{name}.py").cells:
            exercise = cell.metadata.get("nbgrader", {}).get("grade_id", "")
            if cell.cell_type == "markdown":
                text = cell.source
            elif exercise and re.search(r"softmax\(|torch\.exp\(", cell.source):
                begun = re.search(r"\bBegin with (?:your|the lines) ", text)
                from_nothing += [] if begun or exercise in NO_ATTENTION else [exercise]
    assert 0 < len(from_nothing) <= 4, from_nothing


def test_the_minutes_of_a_notebook_are_its_reading_and_its_exercises():
    name = "03_attention"
    working = sum(e.minutes for e in register.exercises(name))
    page = new_markdown_cell("word " * 200 * 10)
    code = new_code_cell("given = code\n" * 500)
    answer = new_code_cell("name " * 5000, metadata={"nbgrader": {"grade_id": "reversal-map"}})
    nothing = minutes_of(name, [answer])
    assert working <= nothing < working + 5 and nothing % 5 == 0
    assert minutes_of(name, [page, answer]) == nothing + 10
    assert minutes_of(name, [page, code, answer]) == nothing + 15
    title = build.read_source(build.SOURCES / f"{name}.py").cells[0].source
    assert f"**about {minutes(name)} minutes · {register.points(name):g} points**" in title
