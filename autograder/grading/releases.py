"""The notebooks that students were given, as this installation has them."""

from __future__ import annotations

from functools import lru_cache

import nbformat
from nbformat import NotebookNode

from autograder import build


@lru_cache(maxsize=32)
def read_release(name: str) -> NotebookNode | None:
    """The release notebook of an assignment; None where there is none. Not to be changed."""
    path = build.NOTEBOOKS / f"{name}.ipynb"
    return nbformat.read(path, as_version=4) if path.is_file() else None


def all_releases() -> dict[str, NotebookNode]:
    """Every release notebook, by the name of its assignment."""
    return {path.stem: read_release(path.stem) for path in sorted(build.NOTEBOOKS.glob("*.ipynb"))}
