"""Reduces a submitted notebook to what may be stored and shown: texts, saved outputs, pictures.

Intake does this for what it rebuilds. Stock nbgrader may also be given a notebook that never
went through intake, so everything is reduced again here. Cells that carry points always lose
their outputs. Text stays as the student wrote it; it becomes harmless when it is rendered (see
`instructor.fragments`), and the instructor's own text is marked here, so that all other is
rendered as a student's.
"""

from __future__ import annotations

import re

from nbformat import NotebookNode

from autograder.intake.saved import pictures, saved_outputs
from autograder.intake.text import clean_cell_text

OWN_OUTPUT = "[Saved by the student, not run by the grader]\n"
NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
KEPT_METADATA = ("nbgrader", "tags", "id", "deletable", "editable")
GIVEN = "given"  # in a cell's metadata: the text is the instructor's
MARKS: dict[str, type | tuple[type, ...]] = {
    "grade_id": str,
    "checksum": str,
    "cell_type": str,
    "grade": bool,
    "solution": bool,
    "locked": bool,
    "task": bool,
    "points": (int, float),
}
SCHEMA_VERSION = 3  # of nbgrader's marks
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def is_graded(cell: NotebookNode) -> bool:
    own = cell.metadata.get("nbgrader")
    return isinstance(own, dict) and bool(own.get("grade"))


def students_outputs(outputs: object) -> list[NotebookNode]:
    """The saved outputs of a cell as text and pictures, labelled as the student's own."""
    kept = saved_outputs(outputs)
    if not kept or kept[0].get("text", "") == OWN_OUTPUT:
        return kept
    return [NotebookNode(output_type="stream", name="stdout", text=OWN_OUTPUT), *kept]


def clean_marks(marks: object) -> NotebookNode | None:
    """nbgrader's metadata of a cell, with values of the right types; None without a usable id."""
    if not isinstance(marks, dict) or not NAME.fullmatch(str(marks.get("grade_id", ""))):
        return None
    kept = {name: marks[name] for name, kind in MARKS.items() if isinstance(marks.get(name), kind)}
    kept["schema_version"] = SCHEMA_VERSION  # any other would end nbgrader's run for everybody
    return NotebookNode({n: v[:64] if isinstance(v, str) else v for n, v in kept.items()})


def clean_cell(cell: NotebookNode, trusted: frozenset[str]) -> None:
    metadata = {name: cell.metadata[name] for name in KEPT_METADATA if name in cell.metadata}
    marks = clean_marks(metadata.pop("nbgrader", None))
    if marks is not None:
        metadata["nbgrader"] = marks
    tags = metadata.pop("tags", None)
    if isinstance(tags, list):
        metadata["tags"] = [t for t in tags[:20] if isinstance(t, str) and NAME.fullmatch(t)]
    if not NAME.fullmatch(str(metadata.get("id", "-"))):
        del metadata["id"]
    for name in ("deletable", "editable"):
        if not isinstance(metadata.get(name, False), bool):
            del metadata[name]
    cell.metadata = NotebookNode(metadata)
    if "id" in cell and not NAME.fullmatch(str(cell.id)):
        del cell["id"]
    if not isinstance(cell.source, str):
        parts = cell.source if isinstance(cell.source, list) else []
        cell.source = "".join(part for part in parts if isinstance(part, str))
    if cell.source in trusted:
        cell.metadata[GIVEN] = True
    else:
        cell.source = clean_cell_text(cell.source)
    if cell.cell_type == "code":
        cell.execution_count = None
        cell.outputs = [] if is_graded(cell) else students_outputs(cell.get("outputs"))
        return
    attachments = pictures(cell.pop("attachments", None))
    if attachments:
        cell.attachments = attachments


def clean_notebook(notebook: NotebookNode, trusted: frozenset[str] = frozenset()) -> NotebookNode:
    """Clean every cell in place. `trusted` contains the instructor's own markdown."""
    notebook.cells = [
        c for c in notebook.cells if c.get("cell_type") in ("code", "markdown", "raw")
    ]
    for cell in notebook.cells:
        clean_cell(cell, trusted)
    seen: set[str] = set()
    for cell in reversed(notebook.cells):
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in seen:
            # the last one counts, as in nbgrader; what nbgrader's own step leaves would end its run
            del cell.metadata["nbgrader"]
        elif name is not None:
            seen.add(name)
    notebook.metadata = NotebookNode({name: NotebookNode(value) for name, value in KERNEL.items()})
    return notebook


def texts_of(release: NotebookNode | None) -> frozenset[str]:
    """The instructor's own markdown, which may contain HTML."""
    if release is None:
        return frozenset()
    return frozenset(cell.source for cell in release.cells if cell.cell_type == "markdown")
