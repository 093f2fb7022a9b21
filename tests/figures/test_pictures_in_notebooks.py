"""No notebook shows a picture without words: it takes them from the course's figures."""

from pathlib import Path

import pytest

SOURCES = sorted((Path(__file__).parents[2] / "autograder" / "source").glob("*.py"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_no_notebook_draws_with_matplotlib_itself(source):
    assert "matplotlib" not in source.read_text(encoding="utf-8")
