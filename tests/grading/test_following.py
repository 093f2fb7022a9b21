"""A gradebook that follows when points, exercises or the release change after grading."""

import copy
import json
import shutil
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder import build
from autograder.course_files import CourseError
from autograder.grading import archive
from autograder.grading.record import (
    ExerciseRecord,
    FindingRecord,
    SubmissionRecord,
    WrittenRecord,
)
from autograder.nbgrader_parts.database import gradebook_url
from autograder.nbgrader_parts.follow import Following
from autograder.nbgrader_parts.gradebook import Entry, GradebookWriter
from autograder.whole_class.course_directory import prepare_course
from autograder.whole_class.following import NotAgreed
from course_utils import register
from tests.grading.handing_in import ASSIGNMENT, EXERCISE, WRITTEN

CHECK = f"{EXERCISE}-check"


def record(student: str, points: float, answered: bool = True) -> SubmissionRecord:
    findings = (
        FindingRecord("shape", True, 2.0, 2.0),
        FindingRecord("weights", points > 2, points - 2.0, 6.0),
    )
    checked = ExerciseRecord(EXERCISE, points, 8.0, points == 8, findings)
    return SubmissionRecord(
        "run",
        student,
        ASSIGNMENT,
        "file.ipynb",
        status="graded",
        exercises=(checked,),
        written={WRITTEN: WrittenRecord(answered, "of the text")},
    )


@pytest.fixture(scope="module")
def class_of_three(tmp_path_factory):
    """Ann 8 of 8 and marked 0.5 of 1; Bob 5 and unmarked; Cem 2 and no written answer."""
    course = tmp_path_factory.mktemp("class")
    url = gradebook_url(course)
    prepare_course(course, ASSIGNMENT, url)
    records = [record("ann", 8.0), record("bob", 5.0), record("cem", 2.0, answered=False)]
    writer = GradebookWriter(url, ASSIGNMENT)
    writer.write(
        [
            Entry(
                r,
                {CHECK: r.points, WRITTEN: None if r.written[WRITTEN].answered else 0.0},
                {EXERCISE: f"{r.points:g} of 8 points.\nWell."},
            )
            for r in records
        ]
    )
    writer.close()
    for one in records:
        archive.write_record(course, one)
        for step in ("submitted", "autograded"):
            notebook = nbformat.read(
                course / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb", as_version=4
            )
            panel = f"DotProdAttention: ({one.points:g} of 8 points) shape (2 of 2)"
            for cell in notebook.cells:
                if cell.metadata.get("nbgrader", {}).get("grade_id") == CHECK:
                    cell.outputs = [
                        nbformat.v4.new_output("stream", text=panel),
                        nbformat.v4.new_output("display_data", {"text/html": f"<b>{panel}</b>"}),
                    ]
            path = course / step / one.student / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
            path.parent.mkdir(parents=True)
            nbformat.write(notebook, path)
    with Gradebook(url) as book:
        grade = book.find_grade(WRITTEN, ASSIGNMENT, ASSIGNMENT, "ann")
        grade.manual_score, grade.needs_manual_grade = 0.5, False
        book.db.commit()
    return course


@pytest.fixture
def course(class_of_three, tmp_path):
    return Path(shutil.copytree(class_of_three, tmp_path / "course"))


def choose(course: Path, text: str) -> list[Following]:
    """Write course.toml, let the class follow, and give back what was shown before."""
    (course / "course.toml").write_text(text, encoding="utf-8")
    shown: list[Following] = []
    prepare_course(course, ASSIGNMENT, gradebook_url(course), lambda f: shown.append(f) or True)
    return shown


def grades(course: Path, student: str) -> dict:
    with Gradebook(gradebook_url(course)) as book:
        (notebook,) = book.find_submission(ASSIGNMENT, student).notebooks
        return {
            g.name: (g.auto_score, g.manual_score, g.score, g.max_score, g.needs_manual_grade)
            for g in notebook.grades
        }


def total(course: Path, student: str) -> tuple[float, float]:
    with Gradebook(gradebook_url(course)) as book:
        found = book.find_submission(ASSIGNMENT, student)
        return found.score, found.max_score


def test_nothing_happens_when_nothing_changed(course):
    assert choose(course, "") == []
    assert choose(course, "") == []
    assert total(course, "ann") == (8.5, 9)


def test_changed_points_reach_gradebook_records_notebooks_and_comments(course):
    (shown,) = choose(course, f"[points]\n{EXERCISE} = 12\n{WRITTEN} = 2\n")
    assert (shown.max_before, shown.max_after) == (9, 14)
    assert {(s.student, s.before, s.after) for s in shown.students} == {
        ("ann", 8.5, 13.0),
        ("bob", 5.0, 7.5),
        ("cem", 2.0, 3.0),
    }
    assert grades(course, "ann")[CHECK] == (12, None, 12, 12, False)
    assert grades(course, "ann")[WRITTEN] == (None, 1.0, 1.0, 2, False)  # keeps its half
    assert grades(course, "bob")[WRITTEN] == (None, None, 0, 2, True)
    assert grades(course, "cem")[WRITTEN] == (0, None, 0, 2, False)
    bob = archive.read_record(course, ASSIGNMENT, "bob")
    assert (bob.points, bob.max_points) == (7.5, 12)
    assert [f.max_points for f in bob.exercises[0].findings] == [3, 9]
    for step in ("submitted", "autograded"):
        text = (course / step / "bob" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_text()
        assert "(7.5 of 12 points) shape (3 of 3)" in text and "of 8 points" not in text
        cells = {
            c["metadata"]["nbgrader"]["grade_id"]: c["metadata"]["nbgrader"]
            for c in json.loads(text)["cells"]
            if "nbgrader" in c["metadata"]
        }
        assert cells[CHECK]["points"] == 12 and cells[WRITTEN]["points"] == 2
    with Gradebook(gradebook_url(course)) as book:
        said = book.find_comment(EXERCISE, ASSIGNMENT, ASSIGNMENT, "bob").auto_comment
    assert said == "7.5 of 12 points.\nWell."


def test_a_change_can_be_taken_back_without_loss(course):
    before = {s: grades(course, s) for s in ("ann", "bob", "cem")}
    choose(course, f"[points]\n{EXERCISE} = 7\n{WRITTEN} = 3\n")
    choose(course, f'does_not_count = ["{WRITTEN}", "{EXERCISE}"]\n')
    assert total(course, "ann") == (0, 0)
    choose(course, f'full_marks = ["{WRITTEN}"]\n')
    choose(course, "")
    assert {s: grades(course, s) for s in before} == before


def test_full_marks_go_to_everybody_who_submitted(course):
    choose(course, f'full_marks = ["{EXERCISE}", "{WRITTEN}"]\n')
    for student in ("ann", "bob", "cem"):
        assert total(course, student) == (9, 9)
        assert not any(waits for *_, waits in grades(course, student).values())
    # and to whoever is graded afterwards
    writer = GradebookWriter(gradebook_url(course), ASSIGNMENT, course=course)
    writer.write([Entry(record("dee", 2.0), {CHECK: 2.0, WRITTEN: None}, {})])
    writer.close()
    assert total(course, "dee") == (9, 9)


@pytest.mark.parametrize("setting", ["does_not_count", "leave_out"])
def test_an_exercise_that_no_longer_counts_leaves_no_points_behind(course, setting):
    (shown,) = choose(course, f'{setting} = ["{WRITTEN}"]\n')
    assert shown.max_after == 8
    assert total(course, "ann") == (8, 8)
    assert not grades(course, "bob")[WRITTEN][-1]  # nobody has to read it
    writer = GradebookWriter(gradebook_url(course), ASSIGNMENT, course=course)
    writer.write([Entry(record("dee", 8.0), {CHECK: 8.0, WRITTEN: None}, {})])
    writer.close()
    assert total(course, "dee") == (8, 8)
    assert not grades(course, "dee")[WRITTEN][-1]
    release = (course / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_text()
    assert WRITTEN in release  # students have it: what they wrote is still found


def test_a_mark_given_after_the_points_changed_counts_as_given(course):
    choose(course, f"[points]\n{WRITTEN} = 4\n")
    with Gradebook(gradebook_url(course)) as book:
        grade = book.find_grade(WRITTEN, ASSIGNMENT, ASSIGNMENT, "ann")
        assert grade.manual_score == 2
        grade.manual_score = 3
        book.db.commit()
    choose(course, f"[points]\n{WRITTEN} = 2\n")
    assert grades(course, "ann")[WRITTEN][1] == 1.5


def test_a_new_exercise_gets_a_place_for_everybody(course, monkeypatch):
    """As if the class had been graded before the exercise was written."""
    with Gradebook(gradebook_url(course)) as book:
        cell = book.find_grade_cell(CHECK, ASSIGNMENT, ASSIGNMENT)
        for grade in cell.grades:
            book.db.delete(grade)
        book.db.delete(cell)
        book.db.commit()
    for student in ("ann", "bob", "cem"):
        old = archive.read_record(course, ASSIGNMENT, student)
        archive.write_record(course, replace(old, exercises=()))
    (course / ".autograder" / "entered" / f"{ASSIGNMENT}.json").unlink()
    (shown,) = choose(course, "")
    assert shown.sentences == (f"{EXERCISE}: new, 8 points.",)
    assert (shown.max_before, shown.max_after) == (1, 9)
    assert grades(course, "bob")[CHECK] == (0, None, 0, 8, False)


def test_without_agreement_nothing_is_written(course):
    before = {
        path: path.read_bytes()
        for path in course.rglob("*")
        if path.is_file() and path.name != "course.toml"
    }
    (course / "course.toml").write_text(f"[points]\n{EXERCISE} = 3\n")
    with pytest.raises(NotAgreed):
        prepare_course(course, ASSIGNMENT, gradebook_url(course), lambda following: False)
    assert {path: path.read_bytes() for path in before} == before


def test_the_instructors_own_source_stays_theirs(course):
    path = course / "source" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    (rubric,) = [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == f"{WRITTEN}-rubric"]  # fmt: skip
    rubric.source = rubric.source.replace("**Rubric**", "**Rubric**\n\nA sentence of mine.")
    nbformat.write(notebook, path)
    choose(course, f"[points]\n{EXERCISE} = 4\n")
    assert "A sentence of mine." in path.read_text()
    assert grades(course, "ann")[CHECK][3] == 4
    with Gradebook(gradebook_url(course)) as book:
        stored = book.find_source_cell(f"{WRITTEN}-rubric", ASSIGNMENT, ASSIGNMENT)
        assert "A sentence of mine." in stored.source
    choose(course, f"[points]\n{EXERCISE} = 5\n")
    assert "A sentence of mine." in path.read_text()


def test_a_notebook_that_the_class_no_longer_uses_is_not_graded(course):
    with pytest.raises(CourseError, match="does not use 03_attention"):
        choose(course, 'notebooks = ["04_translation"]\n')
    assert total(course, "ann") == (8.5, 9)


def test_a_retired_exercise_stays_in_a_class_that_had_it(course, monkeypatch, tmp_path):
    """As if the course had retired the written question since."""
    content = copy.deepcopy(register.own())
    for entry in content["exercise"]:
        entry["retired"] = entry.get("retired", False) or entry["id"] == WRITTEN
    monkeypatch.setattr(register, "own", lambda: content)
    cells = (build.SOURCES / f"{ASSIGNMENT}.py").read_text(encoding="utf-8").split("\n# %%")
    kept = [
        cell for cell in cells if f"exercise {WRITTEN}" not in cell and f'"{WRITTEN}' not in cell
    ]
    assert len(kept) == len(cells) - 2
    (tmp_path / f"{ASSIGNMENT}.py").write_text("\n# %%".join(kept), encoding="utf-8")
    monkeypatch.setattr(build, "SOURCES", tmp_path)
    assert choose(course, f"[points]\n{EXERCISE} = 4\n")
    assert total(course, "ann") == (4.5, 5)  # the mark by hand is still there, and counts
    release = json.loads((course / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_text())
    names = [cell["metadata"].get("nbgrader", {}).get("grade_id") for cell in release["cells"]]
    assert names.count(WRITTEN) == names.count(f"{WRITTEN}-rubric") == 1
    question = release["cells"][names.index(WRITTEN) - 1]
    assert "Question" in "".join(question["source"])
