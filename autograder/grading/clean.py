"""Makes a whole submitted notebook safe to show, and keeps what the student had saved in it.

Intake does this for what it rebuilds. Stock nbgrader may also be given a notebook that never
went through intake, so everything a page is made from is cleaned again here: texts, outputs and
metadata. Cells that carry points always lose their outputs.
"""

from __future__ import annotations

import re

from nbformat import NotebookNode

from autograder.intake.harmless import (
    harmless_attachments,
    harmless_markdown,
    harmless_outputs,
)

OWN_OUTPUT = "[Saved by the student, not run by the grader]\n"
NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
KEPT_METADATA = ("nbgrader", "tags", "id", "deletable", "editable")
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def is_graded(cell: NotebookNode) -> bool:
    own = cell.metadata.get("nbgrader")
    return isinstance(own, dict) and bool(own.get("grade"))


def students_outputs(outputs: object) -> list[NotebookNode]:
    """What a cell had saved, as text and pictures, marked as the student's own."""
    kept = harmless_outputs(outputs)
    if not kept or kept[0].get("text", "") == OWN_OUTPUT:
        return kept
    return [NotebookNode(output_type="stream", name="stdout", text=OWN_OUTPUT), *kept]


def clean_cell(cell: NotebookNode, trusted: frozenset[str]) -> None:
    metadata = {name: cell.metadata[name] for name in KEPT_METADATA if name in cell.metadata}
    tags = metadata.pop("tags", None)
    if isinstance(tags, list):
        metadata["tags"] = [t for t in tags if isinstance(t, str) and NAME.fullmatch(t)]
    if not NAME.fullmatch(str(metadata.get("id", "-"))):
        del metadata["id"]
    cell.metadata = NotebookNode(metadata)
    if "id" in cell and not NAME.fullmatch(str(cell.id)):
        del cell["id"]
    if not isinstance(cell.source, str):
        cell.source = "".join(map(str, cell.source)) if isinstance(cell.source, list) else ""
    if cell.cell_type == "code":
        cell.execution_count = None
        cell.outputs = [] if is_graded(cell) else students_outputs(cell.get("outputs"))
        return
    if cell.source not in trusted:
        cell.source = harmless_markdown(cell.source)
    attachments = harmless_attachments(cell.pop("attachments", None))
    if attachments:
        cell.attachments = attachments


def clean_notebook(notebook: NotebookNode, trusted: frozenset[str] = frozenset()) -> NotebookNode:
    """Clean every cell in place. `trusted` holds the markdown that came from the instructor."""
    notebook.cells = [
        c for c in notebook.cells if c.get("cell_type") in ("code", "markdown", "raw")
    ]
    for cell in notebook.cells:
        clean_cell(cell, trusted)
    notebook.metadata = NotebookNode({name: NotebookNode(value) for name, value in KERNEL.items()})
    return notebook


def texts_of(release: NotebookNode | None) -> frozenset[str]:
    """The instructor's own markdown, which may hold HTML."""
    if release is None:
        return frozenset()
    return frozenset(cell.source for cell in release.cells if cell.cell_type == "markdown")
