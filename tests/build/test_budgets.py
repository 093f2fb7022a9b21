"""Every notebook works in each of the three budgets, though few runs try the longest."""

import ast
from pathlib import Path

import jupytext
import pytest

from autograder import build
from autograder.paths import ROOT
from autograder.run_notebooks import BUDGETS

FILES = sorted([*build.SOURCES.glob("0*.py"), *(ROOT / "course_utils").rglob("*.py")])


def tables(path: Path) -> list[tuple]:
    """The keys of every dictionary that has an entry for a budget."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Dict):
            keys = tuple(key.value for key in node.keys if isinstance(key, ast.Constant))
            if set(keys) & set(BUDGETS):
                found.append(keys)
    return found


def test_what_depends_on_the_budget_is_there_for_all_three():
    found = {path.name: tables(path) for path in FILES}
    assert sum(map(len, found.values())) > 12
    for name, keys in found.items():
        assert keys == [BUDGETS] * len(keys), name


def compared(source: str) -> set[str]:
    """The texts that `budget` is compared with."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and ast.unparse(node.left) == "budget":
            found |= {one.value for one in node.comparators if isinstance(one, ast.Constant)}
    return found


@pytest.mark.parametrize("name", build.names())
def test_a_notebook_asks_only_for_budgets_that_there_are(name):
    cells = jupytext.read(build.SOURCES / f"{name}.py").cells
    asked = set().union(*(compared(c.source) for c in cells if c.cell_type == "code"))
    assert asked <= set(BUDGETS)


def test_each_budget_is_run_somewhere():
    """The shortest by `make test`, the usual one by every push, the longest once a week."""
    tools = (ROOT / "tools" / "run_tests.py").read_text()
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert '"run", "--budget", "smoke"' in tools
    assert "--budget ${{ github.event_name == 'schedule' && 'full' || 'quick' }} " in workflow
