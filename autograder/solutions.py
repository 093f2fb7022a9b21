"""The instructor's own answers, taken from the sources: what tests and benchmarks run."""

import functools
import re
from pathlib import Path

from nbformat import NotebookNode

from autograder import build
from course_utils import register

INSIDE = re.compile(r"^[ \t]*### (?:BEGIN|END) SOLUTION\n?", re.M)


def solution_source(exercise_id: str) -> str:
    """The text of the solution cell of an exercise, without its marks."""
    notebook = register.exercise(exercise_id).notebook
    for cell in _cells(notebook):
        if cell.metadata.get("nbgrader", {}).get("grade_id") == exercise_id:
            return INSIDE.sub("", cell.source)
    raise build.BuildError(f"{notebook}.py has no cell called {exercise_id!r}.")


def setup_source(notebook: str) -> str:
    """The cells of a notebook that answers need: imports and what is given."""
    setup = (c for c in _cells(notebook) if "setup" in c.metadata.get("tags", []))
    return "\n\n".join(cell.source for cell in setup if cell.cell_type == "code")


def _cells(notebook: str) -> list[NotebookNode]:
    path = build.SOURCES / f"{notebook}.py"
    if register.used() is not None:  # a class's choices change what a source gives
        return build.read_source(path).cells
    return _read(path, path.read_text(encoding="utf-8"))


@functools.lru_cache(maxsize=32)
def _read(path: Path, text: str) -> list[NotebookNode]:
    """A source is read once in a process, as long as its text stays the same."""
    return build.read_source(path).cells


def solution(exercise_id: str, name: str | None = None):
    """What a solution defines: the object called `name`, or the exercise's first."""
    entry = register.exercise(exercise_id)
    namespace: dict = {}
    answers = [e for e in register.exercises(entry.notebook) if e.checked]
    exec(compile(setup_source(entry.notebook), f"{entry.notebook}.py", "exec"), namespace)
    # Later answers of a notebook may use earlier ones.
    for other in answers[: answers.index(entry) + 1]:
        exec(compile(solution_source(other.id), f"{other.id}.py", "exec"), namespace)
    return namespace[name or entry.names[0]]
