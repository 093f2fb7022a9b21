"""Which cells of a rebuilt notebook run: the setup cells and the answers, never the training."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from nbformat import NotebookNode

from autograder.box import Job
from autograder.cell_names import CHECK, exercise_of
from course_utils import register


@dataclass(frozen=True)
class RunnableCell:
    """A code cell to run. `answer` is the exercise it answers, empty for a setup cell."""

    source: str
    answer: str = ""
    own: bool = False  # written by the student


def cells_to_run(notebook: NotebookNode) -> tuple[RunnableCell, ...]:
    """The setup cells and the answer cells, in the order of the notebook."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        own = cell.metadata.get("nbgrader", {})
        if own.get("solution"):
            found.append(RunnableCell(cell.source, own.get("grade_id", ""), own=True))
        elif "setup" in (tags := cell.metadata.get("tags", [])):
            found.append(RunnableCell(cell.source, own="student" in tags))
    return tuple(found)


def job_of(cells: Sequence[RunnableCell], request: bytes) -> Job:
    """The cells as the box takes them."""
    return Job(tuple(c.source for c in cells), request, tuple(c.answer for c in cells))


def modules_for(release: NotebookNode) -> tuple[str, ...]:
    """The parts of the course that a release's setup cells import: once, not in each submission."""
    given = [cell.source for cell in cells_to_run(release) if not cell.answer]
    return tuple(dict.fromkeys(name for source in given for name in course_modules(source)))


def course_modules(source: str) -> list[str]:
    """The parts of course_utils that a cell may import; some of the names may not be modules."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [name for name in found if name.startswith("course_utils.")]


def checked_exercises(notebook: NotebookNode) -> tuple[str, ...]:
    """The exercises that have a check cell in this notebook and that the judge knows."""
    known = {exercise.id for exercise in register.ever() if exercise.checked}
    found = []
    for cell in notebook.cells:
        own = cell.metadata.get("nbgrader", {})
        name = own.get("grade_id", "")
        if own.get("grade") and not own.get("solution") and name.endswith(CHECK):
            exercise = exercise_of(name)
            if exercise in known:
                found.append(exercise)
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=4096)
def names_defined_and_used(source: str) -> tuple[set[str], set[str]] | None:
    """The names that a cell binds and those it reads; None if it is not plain Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    defined: set[str] = set()
    used: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else defined).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.alias):
            defined.add((node.asname or node.name).split(".")[0])
    return defined, used


def cells_for(exercise: str, cells: tuple[RunnableCell, ...]) -> tuple[RunnableCell, ...]:
    """The setup cells, the answer to one exercise, and the answers it builds on.

    Used when a whole notebook failed: an endless loop in one answer must not cost the points of
    another that has nothing to do with it.
    """
    tables = [names_defined_and_used(cell.source) for cell in cells]
    kept = {index for index, cell in enumerate(cells) if cell.answer in ("", exercise)}
    needed = set().union(*(t[1] for i in kept if cells[i].answer and (t := tables[i])))
    growing = True
    while growing:
        growing = False
        for index, table in enumerate(tables):
            if index not in kept and table is not None and table[0] & needed:
                kept.add(index)
                needed |= table[1]
                growing = True
    return tuple(cells[index] for index in sorted(kept))
