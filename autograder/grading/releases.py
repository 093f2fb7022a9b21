"""The notebooks that students were given, as this installation has them."""

from __future__ import annotations

from functools import lru_cache

import nbformat
from nbformat import NotebookNode

from autograder.intake import places
from autograder.paths import NOTEBOOKS


def release_names() -> list[str]:
    """The assignments that there are."""
    return sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))


@lru_cache(maxsize=32)
def release_notebook(name: str) -> NotebookNode:
    """The release notebook of an assignment, not to be changed. Raises KeyError if there is none."""
    if name not in release_names():
        raise KeyError(name)
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


@lru_cache(maxsize=1)
def releases_as_read() -> dict[str, places.Release]:
    """All of them as intake reads them, once for a whole class."""
    return {name: places.read_release(release_notebook(name)) for name in release_names()}
