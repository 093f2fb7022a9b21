"""The notebooks that students were given, as this installation has them."""

from __future__ import annotations

from functools import lru_cache

import nbformat
from nbformat import NotebookNode

from autograder import build
from autograder.intake import places


@lru_cache(maxsize=32)
def read_release(name: str) -> NotebookNode | None:
    """The release notebook of an assignment; None where there is none. Not to be changed."""
    path = build.NOTEBOOKS / f"{name}.ipynb"
    return nbformat.read(path, as_version=4) if path.is_file() else None


def all_releases() -> dict[str, NotebookNode]:
    """Every release notebook, by the name of its assignment."""
    return {path.stem: read_release(path.stem) for path in sorted(build.NOTEBOOKS.glob("*.ipynb"))}


@lru_cache(maxsize=1)
def releases_as_read() -> dict[str, places.Release]:
    """The same as intake reads them, once for a whole class."""
    return {name: places.read_release(notebook) for name, notebook in all_releases().items()}
