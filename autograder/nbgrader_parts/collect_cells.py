"""Our step in nbgrader's generate_assignment that keeps the cells of a release."""

from __future__ import annotations

from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.nbgrader_parts.release import ReleasedCell


class CollectCells(NbGraderPreprocessor):
    """Alongside nbgrader's SaveCells: keeps the same cells for a gradebook that has submissions.

    nbgrader refuses to add or remove cells there; `follow` knows how.
    """

    found: list[ReleasedCell] = []

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        CollectCells.found = [_released(cell) for cell in nb.cells if "nbgrader" in cell.metadata]
        return nb, resources


def _released(cell: NotebookNode) -> ReleasedCell:
    own = cell.metadata.nbgrader
    return ReleasedCell(
        own["grade_id"],
        cell.cell_type,
        cell.source,
        own.get("checksum"),
        utils.is_locked(cell),
        utils.is_solution(cell),
        float(own["points"]) if utils.is_grade(cell) else None,
    )
