"""A class's choices hold wherever its work is graded: on a cluster, and by nbgrader's own command."""

import shutil
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory

from autograder.box import why_unavailable
from autograder.grading import archive
from autograder.nbgrader_parts.configuration import for_course
from autograder.nbgrader_parts.database import gradebook_url
from autograder.whole_class.course_directory import prepare_course
from autograder.whole_class.grade_class import Options, grade_class
from course_utils import register
from tests.grading.handing_in import (
    ASSIGNMENT,
    EXERCISE,
    NO_TANH,
    NOTHING,
    RIGHT,
    WRITTEN,
    hand_in,
    submission,
)

pytestmark = [
    pytest.mark.box,
    pytest.mark.slow,
    pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces"),
]
CHECK = f"{EXERCISE}-check"
YAML = f"import yaml\n{RIGHT}"
POINTS = f"[points]\n{EXERCISE} = 12\n"


@pytest.fixture(autouse=True)
def own_register_afterwards():
    yield
    register.use(None)


def made_course(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "course.toml").write_text(text)
    return folder


def scores(course: Path) -> dict[str, tuple[float | None, float]]:
    """What each student has of the checked exercise in the gradebook, and of how much."""
    with Gradebook(gradebook_url(course)) as book:
        found = [
            book.find_grade(CHECK, ASSIGNMENT, ASSIGNMENT, student.id) for student in book.students
        ]
        return {g.notebook.assignment.student_id: (g.score, g.max_score) for g in found}


def handed_in(folder: Path) -> Path:
    for student, answer in {"ann": RIGHT, "bob": NO_TANH, "cem": NOTHING, "dan": YAML}.items():
        hand_in(folder, student, submission(answer, f"A diagonal, says {student}."))
    return folder


@pytest.mark.thorough
def test_a_cluster_grades_by_the_choices_of_the_class(tmp_path, monkeypatch):
    from distributed import LocalCluster

    folder = handed_in(tmp_path / "handed_in")
    text = f'packages = ["pyyaml"]\nfull_marks = ["{WRITTEN}"]\n{POINTS}'
    here = made_course(tmp_path / "here", text)
    _, at_home = grade_class(Options(ASSIGNMENT, (folder,), here))
    there = made_course(tmp_path / "there", text)
    # a worker on another machine has no course directory, and starts with the course's own register
    monkeypatch.setenv("DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD", "spawn")
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        options = Options(
            *(ASSIGNMENT, (folder,), there), cluster=cluster.scheduler_address, without_tls=True
        )
        _, away = grade_class(options)
    assert [(r.student, r.points, r.max_points, r.flags) for r in away] == [
        (r.student, r.points, r.max_points, r.flags) for r in at_home
    ]
    assert scores(there) == scores(here)
    assert scores(there)["ann"] == scores(there)["dan"] == (12, 12)
    assert 0 < scores(there)["bob"][0] < 12 and scores(there)["cem"] == (0, 12)


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A class with points of its own, graded by our command."""
    folder = tmp_path_factory.mktemp("class")
    course = made_course(folder / "course", POINTS)
    grade_class(Options(ASSIGNMENT, (handed_in(folder / "handed_in"),), course))
    return course


@pytest.fixture
def course(graded, tmp_path):
    return Path(shutil.copytree(graded, tmp_path / "course"))


def nbgrader_autograde(course: Path, student: str = "*") -> None:
    config = for_course(course, ASSIGNMENT, gradebook_url(course), student)
    config.Autograde.force = True
    Autograde(coursedir=CourseDirectory(config=config), config=config).start()


def choose(course: Path, text: str) -> None:
    (course / "course.toml").write_text(text)
    prepare_course(course, ASSIGNMENT, gradebook_url(course))


@pytest.mark.thorough
def test_nbgrader_grades_by_the_points_of_the_class(course):
    before = scores(course)
    nbgrader_autograde(course)
    assert scores(course) == before and before["ann"] == (12, 12)
    assert archive.read_record(course, ASSIGNMENT, "ann").max_points == 12


def test_nbgrader_gives_full_marks_for_all_and_the_judge_is_remembered(course):
    before = scores(course)
    choose(course, f'full_marks = ["{EXERCISE}"]\n{POINTS}')
    nbgrader_autograde(course)
    assert set(scores(course).values()) == {(12, 12)}
    choose(course, POINTS)
    assert scores(course) == before


@pytest.mark.parametrize("setting", ["does_not_count", "leave_out"])
def test_nbgrader_counts_nothing_for_what_does_not_count_and_it_can_count_again(course, setting):
    before = scores(course)
    choose(
        course, f'{setting} = ["{EXERCISE}"]\n' + (POINTS if setting == "does_not_count" else "")
    )
    nbgrader_autograde(course)
    assert set(scores(course).values()) == {(0, 0)}
    judged = archive.read_record(course, ASSIGNMENT, "bob").exercise(EXERCISE)
    assert judged.max_points and 0 < judged.points < judged.max_points
    choose(course, POINTS)
    assert scores(course) == before


def test_nbgrader_leaves_a_written_answer_that_counts_for_all_alone(course):
    choose(course, f'full_marks = ["{WRITTEN}"]\n{POINTS}')
    nbgrader_autograde(course, "bob")
    with Gradebook(gradebook_url(course)) as book:
        grade = book.find_grade(WRITTEN, ASSIGNMENT, ASSIGNMENT, "bob")
        assert (grade.score, grade.needs_manual_grade) == (grade.max_score, False)
