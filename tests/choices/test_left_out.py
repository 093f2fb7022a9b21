"""Notebooks without the exercises that a class leaves out: whole, or refused with a reason."""

import ast
import json
import subprocess
import sys

import pytest

from autograder import build, choices, publish
from autograder.choices import Choices
from course_utils import register

COURSE = """
route = "One lab"
title = "Attention in an afternoon"
repository = "https://github.com/example/lab"
optional = ["two-head-queries"]
packages = ["pyyaml"]
[points]
dot-prod-attention = 12
"""


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    course = tmp_path_factory.mktemp("course")
    (course / "course.toml").write_text(COURSE)
    folder = tmp_path_factory.mktemp("published") / "copy"
    publish.publish(folder, solutions=True, course=course)
    assert register.used() is None
    return folder


def cells(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def test_the_copy_has_the_chosen_notebooks_and_nothing_else(published):
    names = ["00_start_here", "01_pen_and_paper", "03_attention"]
    for folder in ("notebooks", "solutions"):
        assert sorted(path.stem for path in (published / folder).glob("*.ipynb")) == names
    readme = (published / "README.md").read_text(encoding="utf-8")
    assert "# Attention in an afternoon" in readme and "04_translation" not in readme
    assert "starting with [00 · Start here](notebooks/00_start_here.ipynb)" in readme
    assert '"pyyaml"' in (published / "pyproject.toml").read_text()


def test_links_points_totals_and_addresses_follow(published):
    text = {path.stem: path.read_text() for path in (published / "notebooks").glob("*.ipynb")}
    everything = "".join(text.values())
    assert "github.com/example/lab" in everything
    assert register.own()["course"]["repository"] not in everything
    for other in ("02_rnn_bottleneck.ipynb", "04_translation.ipynb", "07_decoder_only.ipynb"):
        assert other not in everything
    assert "(03_attention.ipynb)" in text["01_pen_and_paper"]  # the next that there is
    graded = {
        c["metadata"]["nbgrader"]["grade_id"]: c["metadata"]["nbgrader"]["points"]
        for c in cells(published / "notebooks" / "03_attention.ipynb")
        if c["metadata"].get("nbgrader", {}).get("grade")
    }
    assert graded == {"dot-prod-attention-check": 12, "reversal-map": 1}
    assert "13 points" in text["03_attention"]
    assert "noisy-average" not in text["01_pen_and_paper"]
    assert "extra" in text["01_pen_and_paper"]  # two-head-queries is credit beyond the total


def test_the_ready_cell_of_the_copy_counts_what_was_chosen(published, tmp_path):
    code = (
        "from course_utils import register, ready_to_submit\n"
        "print(register.points('03_attention'), [n.name for n in register.notebooks()])\n"
        "ready_to_submit('03_attention')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=published, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("13.0 ['00_start_here', '01_pen_and_paper', '03_attention']")
    assert "of 12" in done.stdout


@pytest.mark.parametrize("exercise", ["noisy-average", "two-head-queries", "average-query"])
def test_what_is_left_defines_every_name_that_it_uses(exercise):
    whole = _names(build.read_source(build.SOURCES / "01_pen_and_paper.py"))
    register.use(choices.content(Choices(left_out=frozenset([exercise]))))
    notebook = build.read_source(build.SOURCES / "01_pen_and_paper.py")
    assert not any(f'"{exercise}"' in cell.source for cell in notebook.cells)
    left = _names(notebook)
    assert left[1] - left[0] <= whole[1] - whole[0]


def _names(notebook) -> tuple[set, set]:
    stored, loaded = set(), set()
    for cell in notebook.cells:
        if cell.cell_type != "code" or "%" in cell.source[:400].split("\n")[-1]:
            continue
        try:
            tree = ast.parse(cell.source)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                (loaded if isinstance(node.ctx, ast.Load) else stored).add(node.id)
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                stored.add(node.name)
            elif isinstance(node, ast.alias):
                stored.add((node.asname or node.name).split(".")[0])
            elif isinstance(node, ast.arg):
                stored.add(node.arg)
    return stored, loaded


def test_an_exercise_that_others_build_on_is_refused_with_the_reason():
    register.use(choices.content(Choices(left_out=frozenset(["encoder-layer"]))))
    with pytest.raises(build.BuildError) as problem:
        build.read_source(build.SOURCES / "06_transformer.py")
    assert "encoder-layer can't be left out: the exercise transformer uses `EncoderLayer`" in str(
        problem.value
    )


def test_it_can_go_together_with_what_builds_on_it():
    both = frozenset(["average-query", "two-head-queries", "noisy-average"])
    register.use(choices.content(Choices(left_out=both)))
    notebook = build.read_source(build.SOURCES / "01_pen_and_paper.py")
    there = {cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells}
    assert not both & there and "why-several-heads" in there
