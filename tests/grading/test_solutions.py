"""The instructor's own solutions of every notebook get all their points in the box."""

import nbformat
import pytest

from autograder import build
from autograder.box import Box, why_unavailable
from autograder.grading.grade import Task, draw_seeds, grade
from autograder.grading.releases import release_names, release_notebook
from autograder.grading.what_to_run import checked_exercises
from autograder.intake import rebuild

pytestmark = [pytest.mark.box, pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces")]
BUILT = [name for name in build.names() if name in release_names()]


@pytest.fixture(scope="module")
def box():
    with Box(workers=2) as box:
        yield box


@pytest.mark.parametrize("name", BUILT)
def test_a_solved_notebook_gets_all_points_and_an_untouched_one_none(name, box):
    release = release_notebook(name)
    solved = build.read_source(build.SOURCES / f"{name}.py")
    exercises = checked_exercises(release)
    assert exercises, name
    seeds = draw_seeds(exercises)
    for notebook, share in ((solved, 1.0), (release, 0.0)):
        handed_in = rebuild(nbformat.writes(notebook).encode(), release)
        grades = grade(Task("ann", handed_in.notebook, seeds), box)
        points = {a.verdict.exercise: a.verdict.points for a in grades.answers}
        wanted = {a.verdict.exercise: a.verdict.max_points * share for a in grades.answers}
        assert points == wanted, grades.printed
