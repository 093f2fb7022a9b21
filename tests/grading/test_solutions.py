"""The instructor's own solutions of every notebook get all their points in the box."""

import nbformat
import pytest

from autograder import build
from autograder.box import Box, why_unavailable
from autograder.grading.answers import checked_exercises
from autograder.grading.grade import Task, draw_seeds, grade
from autograder.grading.record import notebook_bytes
from autograder.grading.releases import read_release
from autograder.intake import rebuild

pytestmark = [pytest.mark.box, pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces")]
BUILT = [name for name in build.names() if read_release(name) is not None]


@pytest.fixture(scope="module")
def box():
    with Box(workers=2) as box:
        yield box


@pytest.mark.parametrize("name", BUILT)
def test_a_solved_notebook_gets_all_points_and_an_untouched_one_none(name, box):
    release = read_release(name)
    solved = build.read_source(build.SOURCES / f"{name}.py")
    exercises = checked_exercises(release)
    assert exercises, name
    seeds = draw_seeds(exercises)
    for notebook, share in ((solved, 1.0), (release, 0.0)):
        handed_in = rebuild(nbformat.writes(notebook).encode(), release)
        grades = grade(Task("ann", name, notebook_bytes(handed_in.notebook), seeds), box)
        points = {a.verdict.exercise: a.verdict.points for a in grades.answers}
        wanted = {a.verdict.exercise: a.verdict.max_points * share for a in grades.answers}
        assert points == wanted, grades.printed
