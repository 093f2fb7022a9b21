"""The texts of the course on pages for people: every formula is drawn, none is left as TeX."""

import nbformat
import pytest

from autograder.grading.releases import release_names, release_notebook
from autograder.instructor import fragments
from autograder.nbgrader_parts.database import gradebook_url
from autograder.whole_class.course_directory import prepare_course
from tests.grading.handing_in import ASSIGNMENT


@pytest.mark.parametrize("name", release_names())
def test_every_formula_of_a_notebook_is_drawn(name, monkeypatch):
    left = []
    drawn = fragments._drawn

    def watched(tex, parts):
        shown = drawn(tex, parts)
        # mathtext has no matrices and no cases; no question that people mark has one
        left.extend([tex] if "<code" in shown and r"\begin" not in tex else [])
        return shown

    monkeypatch.setattr(fragments, "_drawn", watched)
    cells = [cell for cell in release_notebook(name).cells if cell.cell_type == "markdown"]
    pages = [fragments.given(cell.source) for cell in cells]
    assert pages and not left


def test_a_source_that_nbgrader_refuses_is_named_with_the_reason(tmp_path):
    """nbgrader's own last word is "see the the above traceback", with nothing above it."""
    from autograder import build
    from autograder.course_files import CourseError

    build.write_source_tree(tmp_path, [ASSIGNMENT])
    path = tmp_path / "source" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    graded = [cell for cell in notebook.cells if cell.metadata.get("nbgrader")]
    graded[1].metadata["nbgrader"]["grade_id"] = graded[0].metadata["nbgrader"]["grade_id"]
    nbformat.write(notebook, path)
    with pytest.raises(CourseError, match="the nbgrader metadata may be corrupted") as problem:
        prepare_course(tmp_path, ASSIGNMENT, gradebook_url(tmp_path))
    assert "above traceback" not in str(problem.value)
