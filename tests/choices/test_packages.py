"""What an answer may import: one list for the students' guide, the ready cell and the grader."""

import tomllib
from pathlib import Path

import pytest

from autograder import choices
from course_utils import environment, packages, register

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


def test_the_sentence_names_what_is_missing_and_what_may_be_used():
    said = packages.warning("self_attention", "import einops")
    assert said.startswith("self_attention imports einops, which the grader does not have")
    assert "torch, numpy" in said
    assert packages.warning("self_attention", "import torch") == ""


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
    assert list(packages.available()) == installed == list(environment.NEEDED)
    guide = (ROOT / "docs" / "students.md").read_text(encoding="utf-8")
    assert ", ".join(f"`{name}`" for name in installed) in " ".join(guide.split())
