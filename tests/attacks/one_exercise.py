"""A notebook with one exercise, for answers that should be graded without the whole course."""

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.grading.grade import Task, draw_seeds, grade

EXERCISE = "dot-prod-attention"
RIGHT = """
class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.combine = nn.Linear(2 * hidden_size, hidden_size, bias=False)

    def forward(self, query, states):
        weights = (query @ states.transpose(1, 2)).softmax(-1)
        return torch.tanh(self.combine(torch.cat([weights @ states, query], -1))), weights
"""


def marks(grade_id, kind="code", **more):
    plain = {"grade_id": grade_id, "grade": False, "solution": False, "locked": False}
    return {"nbgrader": {**plain, "task": False, "schema_version": 3, "cell_type": kind, **more}}


def notebook(answer, written="", tags=()):
    check = marks(f"{EXERCISE}-check", grade=True, locked=True, points=8)
    return new_notebook(
        cells=[
            new_code_cell("import torch\nfrom torch import nn", metadata={"tags": ["setup"]}),
            new_code_cell(answer, metadata=marks(EXERCISE, solution=True)),
            new_code_cell("check('x')", metadata={**check, "tags": list(tags)}),
            new_markdown_cell(
                written,
                metadata=marks("reversal-map", "markdown", grade=True, solution=True, points=1),
            ),
        ]
    )


def grade_answer(answer, box, student="mallory"):
    """The grades of a submission whose only answer is this cell."""
    content = nbformat.v4.writes(notebook(answer)).encode()
    return grade(Task(student, "03_attention", content, draw_seeds([EXERCISE])), box)
