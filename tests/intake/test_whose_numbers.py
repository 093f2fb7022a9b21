"""The id that a student typed into the notebook, against the one in the gradebook."""

import copy
import json

import nbformat
import pytest

from autograder.grading.releases import release_notebook
from autograder.grading.what_to_run import cells_to_run
from autograder.intake import collect
from course_utils.by_hand import practice

NAME = "01_pen_and_paper"
FIRST = "given = practice.my_numbers(student_id)"


@pytest.fixture
def own_numbers(monkeypatch):
    monkeypatch.setattr(practice, "own_numbers", lambda: True)


def handed_in(folder, source, change=lambda notebook, cell: None, student="ann"):
    """What intake makes of a notebook whose id cell holds `source`."""
    notebook = copy.deepcopy(release_notebook(NAME))
    cell = next(c for c in notebook.cells if c.source.endswith(FIRST))
    cell.source = source
    change(notebook, cell)
    path = folder / student / f"{NAME}.ipynb"
    path.parent.mkdir()
    path.write_text(json.dumps(notebook))
    (submission,) = collect(folder, {NAME: release_notebook(NAME)})
    assert submission.student == student
    assert submission.notebook is not None
    return submission


def moved(notebook, cell):
    """The student put it into a cell of their own and deleted the release's."""
    del cell["id"]
    cell.metadata = {}
    notebook.cells.remove(cell)
    notebook.cells.insert(9, cell)


@pytest.mark.parametrize("typed", ["ann", " Ann ", "ANN"])
def test_the_students_own_id_is_no_mismatch_however_it_is_typed(typed, tmp_path, own_numbers):
    assert handed_in(tmp_path, f"student_id = {typed!r}\n{FIRST}").flags == ()


@pytest.mark.parametrize("change", [lambda notebook, cell: None, moved])
def test_another_id_is_flagged_wherever_it_stands(change, tmp_path, own_numbers):
    submission = handed_in(tmp_path, f'student_id = "bob"\n{FIRST}', change)
    (flag,) = submission.flags
    assert "another student_id, 'bob'" in flag
    assert "graded with the numbers of ann" in flag
    # the judge sees it too, and can say whose answers these are
    assert "student_id = 'bob'" in [cell.source for cell in cells_to_run(submission.notebook)]
    nbformat.validate(submission.notebook)


def test_a_number_is_an_id_too(tmp_path, own_numbers):
    source = f"student_id: int = 1234\n{FIRST}"
    assert handed_in(tmp_path, source, student="1234").flags == ()


def test_the_release_cell_counts_where_another_cell_sets_the_name_too(tmp_path, own_numbers):
    def try_another(notebook, cell):
        more = copy.deepcopy(cell)
        more.source, more.id, more.metadata = 'student_id = "bob"', "mine", {}
        notebook.cells.append(more)

    assert handed_in(tmp_path, f'student_id = "ann"\n{FIRST}', try_another).flags == ()


def test_an_id_that_was_left_empty_has_a_sentence_of_its_own(tmp_path, own_numbers):
    (flag,) = handed_in(tmp_path, f'student_id = ""\n{FIRST}').flags
    assert "left empty" in flag


@pytest.mark.parametrize(
    "source", ["student_id = input()", "print(1)", "student_id = 'ann", "raise SystemExit"]
)
def test_an_id_that_cannot_be_read_is_flagged_and_nothing_is_run(source, tmp_path, own_numbers):
    submission = handed_in(tmp_path, source)
    (flag,) = submission.flags
    assert "whose numbers" in flag
    assert not any("student_id" in cell.source for cell in cells_to_run(submission.notebook))


def test_without_numbers_of_their_own_nobody_is_asked(tmp_path):
    submission = handed_in(tmp_path, f'student_id = "bob"\n{FIRST}')
    assert submission.flags == ()
    assert "student-id" not in {cell.id for cell in submission.notebook.cells}
