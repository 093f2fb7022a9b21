"""One notebook all the way: released, solved, graded and fed back by stock nbgrader."""

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from autograder import build, solutions

NAME = "03_attention"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course directory with a released assignment and three submissions, graded and fed back."""
    folder = tmp_path_factory.mktemp("course")
    build.write_source_tree(folder, [NAME])
    (folder / "nbgrader_config.py").write_text(
        "c = get_config()\n"
        f"c.CourseDirectory.root = {str(folder)!r}\n"
        "c.ClearMarkScheme.enforce_metadata = False\n"
        "c.ExecutePreprocessor.timeout = 120\n"
    )
    nbgrader(folder, "generate_assignment", NAME, "--IncludeHeaderFooter.header=''")
    right = solutions.solution_source("dot-prod-attention")
    hand_in(folder, "right", right)
    hand_in(folder, "scaled", right.replace("states.transpose(1, 2)", "states.transpose(1, 2) / 2"))
    hand_in(folder, "empty", None)
    nbgrader(folder, "autograde", NAME)
    nbgrader(folder, "generate_feedback", NAME)
    return folder


def nbgrader(folder: Path, *command: str) -> None:
    bin_folder = str(Path(sys.executable).parent)
    path = {"PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *command],
        cwd=folder,
        env={**os.environ, **path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def hand_in(folder: Path, student: str, answer: str | None) -> None:
    """The released notebook with an answer in it and without the cells that train."""
    notebook = nbformat.read(folder / "release" / NAME / f"{NAME}.ipynb", as_version=4)
    keep = []
    for cell in notebook.cells:
        graded = "nbgrader" in cell.metadata
        if cell.cell_type == "code" and not graded and "setup" not in cell.metadata.get("tags", []):
            continue
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "dot-prod-attention" and answer:
            cell.source = answer
        keep.append(cell)
    notebook.cells = keep
    target = folder / "submitted" / student / NAME
    target.mkdir(parents=True)
    nbformat.write(notebook, target / f"{NAME}.ipynb")


def score(folder: Path, student: str) -> float:
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{folder}/gradebook.db") as gradebook:
        submission = gradebook.find_submission(NAME, student)
        (notebook,) = submission.notebooks
        return {g.name: g.auto_score for g in notebook.grades}["dot-prod-attention-check"]


@pytest.mark.slow
def test_the_released_notebook_is_the_one_in_the_repository(course):
    released = json.loads((course / "release" / NAME / f"{NAME}.ipynb").read_text())
    ours = json.loads((build.NOTEBOOKS / f"{NAME}.ipynb").read_text())
    assert [c["id"] for c in released["cells"]] == [c["id"] for c in ours["cells"]]


@pytest.mark.slow
def test_a_right_answer_gets_all_points_from_stock_nbgrader(course):
    assert score(course, "right") == 8


@pytest.mark.slow
def test_a_partly_right_answer_gets_part_of_them(course):
    assert 0 < score(course, "scaled") < 8


@pytest.mark.slow
def test_an_empty_answer_gets_none(course):
    assert score(course, "empty") == 0


@pytest.mark.slow
def test_the_feedback_shows_points_and_what_held(course):
    page = (course / "feedback" / "scaled" / NAME / f"{NAME}.html").read_text(encoding="utf-8")
    assert "the weights are softmax(s_t" in page
    assert "the output is tanh" in page


@pytest.mark.slow
def test_the_person_who_marks_sees_the_rubric_and_students_do_not(course):
    graded = (course / "autograded" / "right" / NAME / f"{NAME}.ipynb").read_text()
    released = (course / "release" / NAME / f"{NAME}.ipynb").read_text()
    assert "**Rubric**" in graded and "**Rubric**" not in released
