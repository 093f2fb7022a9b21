"""Removes solutions from a notebook: a stub for code, nothing for numbers that are typed in."""

from nbgrader.preprocessors import ClearSolutions
from traitlets import Dict

from course_utils import register


class ClearAnswers(ClearSolutions):
    """nbgrader's ClearSolutions, but typed answers keep their empty arrays and run as they are.

    An error in place of numbers would stop a notebook that is run from top to bottom.
    """

    typed_stub = Dict({"python": ""}, help="What is left in place of a typed answer").tag(
        config=True
    )

    def preprocess_cell(self, cell, resources, cell_index):
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        typed = {e.id for e in register.ever() if e.kind == "numbers"}
        if grade_id not in typed:
            return super().preprocess_cell(cell, resources, cell_index)
        code_stub = self.code_stub  # type: ignore[has-type]
        self.code_stub = self.typed_stub
        try:
            cell, resources = super().preprocess_cell(cell, resources, cell_index)
        finally:
            self.code_stub = code_stub
        cell.source = cell.source.rstrip("\n")
        return cell, resources
