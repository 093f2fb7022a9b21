"""The notebooks of the course itself, solved and then damaged, give all answers back."""

import json

import nbformat
import pytest

from autograder import build
from autograder.intake import rebuild

NAMES = [path.stem for path in sorted(build.NOTEBOOKS.glob("*.ipynb"))]


def release_of(name):
    return nbformat.read(build.NOTEBOOKS / f"{name}.ipynb", as_version=4)


def marks(cell):
    return cell.metadata.get("nbgrader", {})


def solved(name):
    """The release with the model solutions in it, and what they are."""
    source = {
        marks(cell).get("grade_id"): cell.source
        for cell in build.read_source(build.SOURCES / f"{name}.py").cells
        if marks(cell).get("solution")
    }
    notebook = release_of(name)
    for cell in notebook.cells:
        if marks(cell).get("solution"):
            cell.source = source[marks(cell)["grade_id"]]
    return notebook, source


def test_there_are_notebooks():
    assert "03_attention" in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_an_untouched_notebook_needs_no_repair(name):
    rebuilt = rebuild(json.dumps(release_of(name)).encode(), release_of(name))
    assert rebuilt.repairs == rebuilt.flags == ()
    assert rebuilt.notebook.cells == release_of(name).cells


@pytest.mark.parametrize("name", NAMES)
def test_answers_survive_the_loss_of_all_metadata(name):
    notebook, answers = solved(name)
    for number, cell in enumerate(notebook.cells):
        cell["metadata"], cell["id"] = nbformat.NotebookNode(), f"lost-{number}"
    rebuilt = rebuild(json.dumps(notebook).encode(), release_of(name))
    found = {marks(cell).get("grade_id"): cell for cell in rebuilt.notebook.cells}
    for grade_id, source in answers.items():
        if found[grade_id].cell_type == "code":
            assert found[grade_id].source.strip() == source.strip(), grade_id
        else:
            assert found[grade_id].source != marks(found[grade_id]), grade_id
            assert source.strip()[:40].split("<")[0] in found[grade_id].source, grade_id


@pytest.mark.parametrize("name", NAMES)
def test_answers_survive_being_moved_and_duplicated(name):
    notebook, answers = solved(name)
    twins = [nbformat.from_dict(json.loads(json.dumps(cell))) for cell in notebook.cells]
    notebook.cells = [cell for cell in reversed(notebook.cells)] + twins
    rebuilt = rebuild(json.dumps(notebook).encode(), release_of(name))
    assert rebuilt.flags == ()
    for cell in rebuilt.notebook.cells:
        if cell.cell_type == "code" and marks(cell).get("solution"):
            assert cell.source.strip() == answers[marks(cell)["grade_id"]].strip()
