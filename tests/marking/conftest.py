"""A class of 120 with one written question, entered into a gradebook without running anything."""

import copy
import sys
from pathlib import Path

import nbformat
import pytest

from autograder.grading.record import SubmissionRecord, WrittenRecord
from autograder.grading.releases import release_notebook
from autograder.instructor.course import open_course
from autograder.intake import Student
from autograder.nbgrader_parts.database import gradebook_url
from autograder.nbgrader_parts.gradebook import Entry, GradebookWriter
from autograder.whole_class.course_directory import prepare_course

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.once import made_once

NAME = "03_attention"
QUESTION = "reversal-map"
STUDENTS = 120
DIAGONAL = (
    "The map is the anti-diagonal: step $t$ needs the letter at position $S - t + 1$, because the "
    "task asks for the string backwards. Rows that are not sharp can still be right, as a state "
    "also carries its neighbours."
)
COMMON = (
    DIAGONAL,
    "It falls from the top right to the bottom left.",
    "I think it shows the weights.",
)


def answer_of(number: int) -> str:
    """Every third student shares an answer, every sixth changes a word of it; five write nothing."""
    if number % 24 == 23:
        return ""
    if number % 3 == 0:
        return COMMON[number // 3 % 3]
    if number % 6 == 1:
        return COMMON[number // 6 % 3].replace("the", "this", 1) + f" ({number})"
    return (
        f"My own map number {number} has **{number % 7} sharp rows** out of {number % 5 + 9}; "
        + "the largest weight moves to the left with every step, " * (1 + number % 3)
        + f"because letter {chr(97 + number % 26)} comes {number} places earlier."
    )


def enter(root, answers: dict[str, str], names=lambda student: ("", "")) -> None:
    """Graded notebooks and gradebook entries for these students."""
    url = gradebook_url(root)
    prepare_course(root, NAME, url)
    people = [Student(s, *names(s), "", "") for s in answers]
    writer = GradebookWriter(url, NAME, roster=people)
    release, entries = release_notebook(NAME), []
    for student, text in answers.items():
        notebook = copy.deepcopy(release)
        cell = next(
            c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == QUESTION
        )
        if text:
            cell.source = text
        folder = root / "autograded" / student / NAME
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / f"{NAME}.ipynb")
        written = {QUESTION: WrittenRecord(bool(text), text)}
        record = SubmissionRecord("run", student, NAME, "", status="graded", written=written)
        scores = {"dot-prod-attention-check": 8.0, QUESTION: None if text else 0.0}
        entries.append(Entry(record, scores, {}))
    writer.write(entries)
    writer.close()


@pytest.fixture(scope="session")
def made_class(tmp_path_factory):
    answers = {f"s{n:03d}": answer_of(n) for n in range(STUDENTS)}

    def make(folder):
        enter(folder / "course", answers, lambda student: ("Student", f"Number {student[1:]}"))

    return made_once(tmp_path_factory, "marking", make) / "course"


@pytest.fixture
def course(made_class, tmp_path):
    """A copy that a test may change."""
    import shutil

    return open_course(shutil.copytree(made_class, tmp_path / "course"))
