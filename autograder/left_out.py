"""Removes the exercises that a class leaves out from a source, with everything that needs them."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from nbformat import NotebookNode

from autograder.cell_names import check_cell, rubric_cell
from autograder.paths import SOURCES
from course_utils import register

SCOPES = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LINK = re.compile(r"\[([^\]\[]+)\]\(([0-9]{2}_\w+)\.ipynb(?:#[^)]*)?\)")


class Needed(Exception):
    """An exercise can't be left out, because something that stays builds on it."""


def used_cells(cells: Sequence[NotebookNode]) -> list[NotebookNode]:
    """The cells that a class uses. Raises Needed if what is left can't run.

    An exercise goes with its text, its answer and its check, and so does every cell that waits for
    it with `ready("…")`, together with the sentence that introduces that cell.
    """
    left_out = set(register.setting("left_out", ()))
    gone = {index for index, cell in enumerate(cells) if _belongs(cell, left_out)}
    gone |= {
        index - 1
        for index in gone
        if cells[index].cell_type == "code" and index and _introduces(cells[index - 1])
    }
    if not gone:
        return list(cells)
    staying = [cell for index, cell in enumerate(cells) if index not in gone]
    wanted = set().union(*(_names(cell.source)[1] for cell in staying if cell.cell_type == "code"))
    kept = []
    for index, cell in enumerate(cells):
        if index not in gone:
            kept.append(cell)
        elif cell.cell_type == "code" and "nbgrader" not in cell.metadata:
            kept += filter(None, [_only_imports(cell, wanted)])
    _check_names(cells, kept, left_out)
    return kept


def without_dead_links(source: str) -> str:
    """Turn links to notebooks that the class does not use into plain words."""
    used = {entry.name for entry in register.notebooks()}
    # A link to what is no notebook of the course stays, for the build to refuse.
    left_out = {path.stem for path in SOURCES.glob("*.py")} - used
    return LINK.sub(lambda found: found[1] if found[2] in left_out else found[0], source)


def _belongs(cell: NotebookNode, exercises: set[str]) -> bool:
    name = cell.metadata.get("nbgrader", {}).get("grade_id")
    for exercise in exercises:
        if name in (exercise, check_cell(exercise), rubric_cell(exercise)):
            return True
        if cell.cell_type == "markdown" and re.search(
            rf"{{{{\s*exercise {re.escape(exercise)}\s*}}}}", cell.source
        ):
            return True
    return cell.cell_type == "code" and name is None and bool(_awaited(cell.source) & exercises)


def _awaited(source: str) -> set[str]:
    """The exercises that a cell waits for."""
    calls = re.findall(r"\bready\(([^)]*)\)", source)
    return {name for call in calls for name in re.findall(r"[\"']([\w-]+)[\"']", call)}


def _introduces(cell: NotebookNode) -> bool:
    """Whether a text only leads to the next cell: it has no heading and ends in a colon."""
    text = cell.source.strip()
    return (
        cell.cell_type == "markdown"
        and "nbgrader" not in cell.metadata
        and not text.startswith("#")
        and text.endswith(":")
    )


def _check_names(
    cells: Sequence[NotebookNode], kept: Sequence[NotebookNode], left_out: set[str]
) -> None:
    """Check that what stays uses no name that only a removed cell defines."""
    before = set().union(*(_names(cell.source)[0] for cell in cells if cell.cell_type == "code"))
    code = [cell for cell in kept if cell.cell_type == "code"]
    lost = before - set().union(*(_names(cell.source)[0] for cell in code))
    for cell in code:
        missing = sorted(_names(cell.source)[1] & lost)
        if missing:
            own = cell.metadata.get("nbgrader", {}).get("grade_id", "")
            who = f"the exercise {own}" if own else f"the cell `{_first_line(cell)}`"
            raise Needed(
                f"{', '.join(sorted(left_out & _of_notebook(cells)))} can't be left out: {who} uses "
                f"`{missing[0]}` from there. Leave that out too, or put the exercise into `optional`."
            )


def _of_notebook(cells: Sequence[NotebookNode]) -> set[str]:
    return {cell.metadata.get("nbgrader", {}).get("grade_id", "") for cell in cells}


def _first_line(cell: NotebookNode) -> str:
    return next((line for line in cell.source.splitlines() if line.strip()), "")[:60]


def _names(source: str) -> tuple[set[str], set[str]]:
    """The names that a cell defines for others, and those that it needs from others."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # IPython's own lines
        return set(), set()
    defined: set[str] = set()
    inner: set[str] = set()
    used: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, SCOPES):
            inner |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and _is_stored(n)}
            inner |= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.alias):
            defined.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Name):
            (defined if _is_stored(node) else used).add(node.id)
    return defined - inner, used - defined - inner


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _only_imports(cell: NotebookNode, wanted: set[str]) -> NotebookNode | None:
    """Keep the imports of a removed cell that others use."""
    try:
        body = ast.parse(cell.source).body
    except SyntaxError:
        return None
    kept = [
        ast.unparse(node)
        for node in body
        if isinstance(node, ast.Import | ast.ImportFrom)
        and {(a.asname or a.name).split(".")[0] for a in node.names} & wanted
    ]
    return NotebookNode({**cell, "source": "\n".join(kept)}) if kept else None
