"""A course that began with an older notebook is graded by it, retired exercises included."""

import copy
from dataclasses import replace

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from autograder import build
from autograder.instructor.course import open_course, open_gradebook
from autograder.instructor.regrade import regrade
from autograder.whole_class.grade_class import Options, grade_class
from course_utils import register
from tests.grading.handing_in import cell_of

NAME, RETIRED, CHANGED = "01_pen_and_paper", "two-heads-numbers", "single-query-numbers"
ANSWER = (build.SOURCES.parent / "mutants" / RETIRED / "right_typed.py").read_text()
STUB = "Z_total = [[..., ..., ...], [..., ..., ...], [..., ..., ...], [..., ..., ...]]"


def marked(grade_id, points=None):
    """nbgrader's metadata of an answer, or of a check that is worth some points."""
    graded = points is not None
    own = {
        "grade_id": grade_id,
        "grade": graded,
        "solution": not graded,
        "locked": graded,
        "task": False,
        "schema_version": 3,
        "cell_type": "code",
    }
    return {"nbgrader": own | ({"points": points} if graded else {})}


def older_source():
    """The notebook as it was with one exercise more, and another worth three points."""
    source = build.read_source(build.SOURCES / f"{NAME}.py")
    cell_of(source, f"{CHANGED}-check").metadata.nbgrader["points"] = 3
    solution = f"{STUB}\n### BEGIN SOLUTION\n{ANSWER}\n### END SOLUTION"
    source.cells += [
        new_code_cell(solution, metadata=marked(RETIRED)),
        new_code_cell(f'check("{RETIRED}")', metadata=marked(f"{RETIRED}-check", 2)),
    ]
    return source


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course with that notebook in its source folder, and one student who solved it all."""
    course = tmp_path_factory.mktemp("older")
    source = older_source()
    place = course / "source" / NAME / f"{NAME}.ipynb"
    place.parent.mkdir(parents=True)
    place.write_text(build.to_json(copy.deepcopy(source)), encoding="utf-8")
    handed_in = course / "handed_in" / "ann" / f"{NAME}.ipynb"
    handed_in.parent.mkdir(parents=True)
    nbformat.write(source, handed_in)
    return course


@pytest.mark.box
def test_an_older_submission_gets_the_points_that_its_own_notebook_promised(course):
    _, (record,) = grade_class(Options(NAME, (course / "handed_in",), course))
    points = {entry.exercise: (entry.points, entry.max_points) for entry in record.exercises}
    assert points[RETIRED] == (2, 2)
    assert points[CHANGED] == (3, 3)
    assert all(got == worth for got, worth in points.values()), points
    with open_gradebook(open_course(course)) as gradebook:
        grades = gradebook.find_submission_notebook(NAME, NAME, "ann").grades
        scores = {grade.cell.name: grade.auto_score for grade in grades}
    assert scores[f"{RETIRED}-check"] == 2 and scores[f"{CHANGED}-check"] == 3
    again = regrade(open_course(course), NAME, exercises=(RETIRED, CHANGED))
    assert len(again.changes) == 2
    assert not any(change.changed for change in again.changes)


def test_no_notebook_shows_a_retired_exercise_and_no_total_counts_it():
    retired = [exercise for exercise in register.ever() if exercise.retired]
    assert {RETIRED, "multi-head-by-hand"} <= {exercise.id for exercise in retired}
    for exercise in retired:
        assert exercise not in register.exercises()
        assert register.exercise(exercise.id) is exercise
        assert exercise.id not in (build.NOTEBOOKS / f"{exercise.notebook}.ipynb").read_text()
    shown = build.read_source(build.SOURCES / f"{NAME}.py").cells
    promised = sum(cell.metadata.get("nbgrader", {}).get("points", 0) for cell in shown)
    assert promised == register.points(NAME)


def test_a_name_that_a_retired_exercise_asked_for_too_belongs_to_the_new_one(monkeypatch):
    old = next(e for e in register.ever() if e.names == ("multi_head_by_hand",))
    new = replace(old, id="heads-again", retired=False)
    assert register.exercise_defining("multi_head_by_hand") is old
    monkeypatch.setattr(register, "ever", lambda: (old, new))
    assert register.exercise_defining("multi_head_by_hand") is new


def test_a_source_that_shows_a_retired_exercise_is_refused(tmp_path):
    text = (build.SOURCES / f"{NAME}.py").read_text(encoding="utf-8")
    header = f'# %% nbgrader={{"grade_id": "{RETIRED}", "solution": true}}'
    path = tmp_path / f"{NAME}.py"
    path.write_text(f"{text}\n{header}\n{STUB}\n", encoding="utf-8")
    with pytest.raises(build.BuildError, match="the register has two-heads-numbers as retired"):
        build.read_source(path)
