"""What an answer may import: one list for the students' guide, the ready cell and the grader."""

import tomllib
from pathlib import Path

import pytest

from autograder import choices
from course_utils import environment, packages, register, submission

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("import torch, math\nfrom torch import nn\nfrom course_utils import check", []),
        ("from einops import rearrange", ["einops"]),
        ("def f():\n    import scipy.special as s\n    return s", ["scipy"]),
        ("from . import x", []),
        ("def broken(:", []),
    ],
)
def test_imports_that_the_grader_lacks_are_found(source, missing):
    assert packages.not_available(source) == missing


def test_the_ready_cell_names_what_the_grader_lacks():
    cell = {
        "cell_type": "code",
        "source": "from einops import rearrange\nclass DotProdAttention: pass",
        "metadata": {"nbgrader": {"grade_id": "dot-prod-attention"}},
    }
    file = submission.SavedFile({"cells": [cell]})
    said = " ".join(submission.problems("03_attention", file, []))
    assert "DotProdAttention imports einops, which the grader does not have" in said


def test_a_class_may_allow_more(tmp_path):
    (tmp_path / "course.toml").write_text('packages = ["pyyaml"]\n')
    choices.use(tmp_path)
    try:
        assert packages.not_available("import yaml") == []
    finally:
        register.use(None)


def test_the_list_is_what_the_course_installs_and_what_its_guide_says():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    installed = [need.partition(">")[0] for need in project["dependencies"]]
    # IPython comes with every notebook
    assert list(packages.available()) == [*installed, "IPython"]
    assert installed == list(environment.NEEDED)
    guide = (ROOT / "docs" / "students.md").read_text(encoding="utf-8")
    assert ", ".join(f"`{name}`" for name in packages.available()) in " ".join(guide.split())
