"""The notebooks that students were given: from their course, or from this installation."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.intake import places
from autograder.paths import NOTEBOOKS


def release_names() -> list[str]:
    """The names of all assignments."""
    return sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))


@lru_cache(maxsize=32)
def release_notebook(name: str) -> NotebookNode:
    """The release notebook of an assignment; do not change it. Raises KeyError if there is none."""
    if name not in release_names():
        raise KeyError(name)
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def release_of(course: Path, name: str) -> str:
    """What the students of a course were given, as the text of its file.

    A course that began with an earlier version of a notebook is graded by that version.
    """
    own = course / "release" / name / f"{name}.ipynb"
    path = own if own.is_file() else NOTEBOOKS / f"{name}.ipynb"
    return path.read_text(encoding="utf-8")


@lru_cache(maxsize=4)
def releases_as_read(assignment: str = "", given: str = "") -> dict[str, places.Release]:
    """All of them as intake reads them, once for a whole class.

    `given` is the text of one that the course has, for this assignment.
    """
    found = {name: places.read_release(release_notebook(name)) for name in release_names()}
    if given:
        found[assignment] = places.read_release(nbformat.reads(given, as_version=4))
    return found
