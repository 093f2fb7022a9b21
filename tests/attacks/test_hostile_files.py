"""Hostile notebooks and archives, through the whole chain: no points, no trace, no stopped class."""

import copy
import io
import json
import zipfile
from pathlib import Path

import pytest

from autograder.box import why_unavailable
from autograder.whole_class.grade_class import Options, grade_class
from tests.grading.handing_in import (
    ASSIGNMENT,
    EXERCISE,
    NOTHING,
    RIGHT,
    cell_of,
    hand_in,
    submission,
)

pytestmark = [pytest.mark.box, pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces")]
CHECK = f"{EXERCISE}-check"


def changed(change):
    """An unsolved notebook with one hostile change."""
    notebook = submission(NOTHING)
    change(notebook)
    return notebook


def tag(notebook):
    cell_of(notebook, CHECK).metadata["tags"] = ["skip-execution", "raises-exception"]


def saved_points(notebook):
    output = {"output_type": "execute_result", "execution_count": 1, "metadata": {}}
    cell_of(notebook, CHECK).outputs = [{**output, "data": {"text/plain": "8.0"}}]


def easier_check(notebook):
    cell = cell_of(notebook, CHECK)
    cell.source = "8.0"
    cell.metadata.nbgrader.update(locked=False, checksum="0" * 32)


def more_points(notebook):
    cell_of(notebook, CHECK).metadata.nbgrader["points"] = 1000


def schema_99(notebook):
    for cell in notebook.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader["schema_version"] = 99


def twice(notebook):
    cell = cell_of(notebook, CHECK)
    notebook.cells.insert(0, copy.deepcopy(cell))


def other_kernel(notebook):
    notebook.metadata.kernelspec = {"name": "bash", "display_name": "Bash", "language": "bash"}


def setup_of_its_own(notebook):
    extra = copy.deepcopy(notebook.cells[0])
    extra.update(cell_type="code", source="import os; os._exit(0)", outputs=[], execution_count=1)
    extra.metadata = {"tags": ["setup"]}
    notebook.cells.insert(1, extra)


def check_made_a_solution(notebook):
    cell = cell_of(notebook, CHECK)
    cell.metadata.nbgrader.update(solution=True, grade=True, locked=False)
    cell.source = "manual grading please"


def swapped_ids(notebook):
    cell_of(notebook, EXERCISE).metadata.nbgrader["grade_id"] = "../../gradebook"


HOSTILE = {
    change.__name__: change
    for change in (
        tag,
        saved_points,
        easier_check,
        more_points,
        schema_99,
        twice,
        other_kernel,
        setup_of_its_own,
        check_made_a_solution,
        swapped_ids,
    )
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """One class of hostile notebooks and one honest student, graded in one run."""
    folder = tmp_path_factory.mktemp("handed_in")
    course = tmp_path_factory.mktemp("course")
    for name, change in HOSTILE.items():
        hand_in(folder, name, changed(change))
    hand_in(folder, "honest", submission(RIGHT))
    shadow = folder / "shadow"
    hand_in(folder, "shadow", submission(NOTHING))
    (shadow / "torch.py").write_text("raise SystemExit")
    (shadow / "nbgrader_config.py").write_text("raise SystemExit")
    (folder / "linked").mkdir()
    (course / "gradebook_of_last_year.ipynb").write_text("{}")
    (folder / "linked" / f"{ASSIGNMENT}.ipynb").symlink_to(course / "gradebook_of_last_year.ipynb")
    (folder / "broken").mkdir()
    (folder / "broken" / f"{ASSIGNMENT}.ipynb").write_bytes(b"\x00\xff not JSON")
    (folder / "deep").mkdir()
    (folder / "deep" / f"{ASSIGNMENT}.ipynb").write_bytes(b'{"cells":' + b"[" * 100_000)
    before = {str(p) for p in Path(folder.parent).rglob("*") if course not in p.parents}
    run, verdicts = grade_class(Options(ASSIGNMENT, (folder,), course))
    after = {str(p) for p in Path(folder.parent).rglob("*") if course not in p.parents}
    assert after == before
    return run, {v.student: v for v in verdicts}, course


@pytest.mark.parametrize("name", [*HOSTILE, "shadow"])
def test_a_hostile_notebook_gets_no_points(name, graded):
    _, verdicts, _ = graded
    assert verdicts[name].points == 0


def test_the_honest_student_beside_them_gets_all_points(graded):
    run, verdicts, _ = graded
    assert verdicts["honest"].points == verdicts["honest"].max_points == 8
    assert run.graded + run.flagged == run.submissions


def test_what_cannot_be_read_is_flagged(graded):
    _, verdicts, _ = graded
    for name in ("broken", "deep"):
        assert verdicts[name].status == "flagged"
        assert verdicts[name].flags


def test_nobody_gets_more_than_a_cell_is_worth(graded):
    from nbgrader.api import Gradebook

    *_, course = graded
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        for entry in book.assignment_submissions(ASSIGNMENT):
            points = {
                g.name: (g.auto_score, g.max_score) for n in entry.notebooks for g in n.grades
            }
            assert points[CHECK][0] == (8 if entry.student_id == "honest" else 0)
            assert points[CHECK][1] == 8


def test_an_archive_cannot_write_outside_or_blow_up(tmp_path):
    archive, course = tmp_path / "class.zip", tmp_path / "course"
    good = json.dumps(submission(RIGHT)).encode()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(f"ann/{ASSIGNMENT}.ipynb", good)
        file.writestr(f"../../escaped/{ASSIGNMENT}.ipynb", good)
        file.writestr(f"/absolute/{ASSIGNMENT}.ipynb", good)
        link = zipfile.ZipInfo(f"eve/{ASSIGNMENT}.ipynb")
        link.external_attr = 0o120777 << 16
        file.writestr(link, "/etc/passwd")
        with file.open(f"bomb/{ASSIGNMENT}.ipynb", "w", force_zip64=True) as bomb:
            for _ in range(400):
                bomb.write(bytes(1 << 20))
        inner = io.BytesIO()
        with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as nested:
            nested.writestr(f"{ASSIGNMENT}.ipynb", bytes(300 << 20))
        file.writestr("nested/again.zip", inner.getvalue())
    run, verdicts = grade_class(Options(ASSIGNMENT, (archive,), course))
    points = {v.student: v.points for v in verdicts}
    assert points["ann"] == 8
    assert sum(p > 0 for p in points.values()) == 1
    assert not (tmp_path.parent / "escaped").exists() and not Path("/absolute").exists()
    assert "root:" not in repr(verdicts)
    assert {p.name for p in tmp_path.iterdir()} == {"class.zip", "course"}
