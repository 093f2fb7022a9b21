"""Submissions of 03_attention made from the release notebook, honest and damaged."""

from __future__ import annotations

import copy
import json
from pathlib import Path

from autograder.grading.releases import release_notebook

ASSIGNMENT = "03_attention"
EXERCISE = "dot-prod-attention"
WRITTEN = "reversal-map"
RIGHT = """
class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.combine = nn.Linear(2 * hidden_size, hidden_size, bias=False)

    def forward(self, query, states):
        weights = (query @ states.transpose(1, 2)).softmax(-1)
        return torch.tanh(self.combine(torch.cat([weights @ states, query], -1))), weights
"""
NO_TANH = RIGHT.replace("torch.tanh(", "(")
WRONG_AXIS = RIGHT.replace("softmax(-1)", "softmax(1)")
NOTHING = "class DotProdAttention(nn.Module):\n    pass"


def submission(answer: str = RIGHT, written: str | None = None):
    """The release notebook with these answers."""
    notebook = copy.deepcopy(release_notebook(ASSIGNMENT))
    cell_of(notebook, EXERCISE).source = answer
    if written is not None:
        cell_of(notebook, WRITTEN).source = written
    return notebook


def cell_of(notebook, grade_id: str):
    """The cell with a grade_id."""
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id:
            return cell
    raise KeyError(grade_id)


def hand_in(folder: Path, student: str, notebook) -> Path:
    """Write a notebook as a student's folder, without looking whether it is valid."""
    path = folder / student / f"{ASSIGNMENT}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path
