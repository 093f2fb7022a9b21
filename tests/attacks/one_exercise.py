"""A notebook with one exercise, for answers that should be graded without the whole course."""

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.grading.grade import Task, draw_seeds, grade
from tests.grading.handing_in import EXERCISE


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
    return grade(Task(student, notebook(answer), draw_seeds([EXERCISE])), box)
