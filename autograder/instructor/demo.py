"""An invented class to try everything on: a roster, and what its students handed in.

The answers are the bank of right and wrong ones that the checks are tested with, so the class has
the misconceptions that the judge knows by name.
"""

from __future__ import annotations

import copy
import csv
import io
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder import choices
from autograder.course_files import CourseError
from autograder.grading.releases import release_names, release_notebook
from autograder.intake import Student
from autograder.nbgrader_parts.database import gradebook_url
from autograder.paths import MUTANTS
from autograder.whole_class.course_directory import prepare_course
from course_utils import register

ASSIGNMENTS = ("03_attention", "04_translation")
# These answers run until the box stops them; in a demonstration that is only waiting.
SLOW = ("never_ends", "huge_result")
DUE = datetime(2026, 3, 6, 18, 0, tzinfo=UTC)

FIRST = (
    "Ada", "Jürgen", "小明", "Chidi", "Noor", "Zoë", "Mateo", "Anh", "Søren", "Priya", "Łukasz",
    "Amina", "Kenji", "Inês", "Oleksandr", "Layla", "Tomás", "Mei", "Kofi", "Freya", "Иван", "Sara",
    "Omar", "Élise", "Yuki", "Pablo", "Nia", "Arjun", "Hanna", "Dmitri",
)  # fmt: skip
LAST = (
    "O'Brien", "Müller", "王", "Okafor", "Haddad", "van der Berg", "García, Jr.", "Nguyễn",
    "Ødegård", "Sharma", "Wójcik", "Diallo", "Tanaka", "Gonçalves", "Шевченко", 'Al-"Sayed"',
    "Novák", "Chen", "Mensah", "Lindqvist",
)  # fmt: skip

WRITTEN = (
    "With attention the map is a falling diagonal: the last output looks at the first input, so "
    "the model has learned to read the string backwards. Without it there is nothing to look at.",
    "The darkest squares lie on the diagonal from top right to bottom left. $\\alpha_{ts}$ is "
    "largest where $s = S - t$.",
    "I think it shows the weights.",
    "It is bright where the model is sure. The rows sum to one.",
)
HOSTILE = """
import os, sys
try:
    print(open("/etc/passwd").read())
    os.system("rm -rf ~/*")
except Exception:
    pass
get_ipython().displayhook(8.0)
os._exit(0)
"""


@dataclass(frozen=True)
class Answer:
    """One answer from the bank, with its exercise and the mistake it makes."""

    exercise: str
    name: str
    source: str
    misconception: str

    @property
    def right(self) -> bool:
        return self.name.startswith("right")


def bank(exercise: str) -> list[Answer]:
    """The right and wrong answers to an exercise; the slow ones are left out."""
    found = []
    for path in sorted((MUTANTS / exercise).glob("*.py")):
        if path.stem.removeprefix("wrong_") in SLOW:
            continue
        first, _, rest = path.read_text(encoding="utf-8").partition("\n")
        named = first.removeprefix("# misconception:").strip()
        is_named = first.startswith("# misconception:")
        source = rest if is_named else f"{first}\n{rest}"
        misconception = named if is_named and named != "none" else ""
        found.append(Answer(exercise, path.stem, source.strip("\n"), misconception))
    return found


def make_students(count: int, rng: random.Random) -> list[Student]:
    """A class with commas, quotes and more than one script in its names."""
    students = []
    for number in range(count):
        first = FIRST[number % len(FIRST)]
        last = LAST[(number * 7 + number // len(LAST)) % len(LAST)]
        students.append(
            Student(
                f"s{number + 1:03d}",
                first,
                last,
                f"s{number + 1:03d}@uni.example",
                str(41000 + number),
                f"Group {'AB'[number % 2]}",
                f"U{9000 + number}",
            )
        )
    rng.shuffle(students)
    return sorted(students, key=lambda student: student.id)


def write_roster(path: Path, students: list[Student]) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(
        ["id", "first_name", "last_name", "email", "lms_user_id", "section", "sis_user_id"]
    )
    for s in students:
        writer.writerow([s.id, s.first_name, s.last_name, s.email, s.lms_id, s.section, s.sis_id])
    path.write_text(stream.getvalue(), encoding="utf-8")


@dataclass(frozen=True)
class DemoFile:
    """One file that a student of the class handed in, when, and what kind of work it is."""

    student: str
    assignment: str
    name: str
    content: bytes
    when: datetime
    kind: str
    misconceptions: tuple[str, ...] = ()


def make_class(
    students: list[Student], assignments: list[str], rng: random.Random, hostile: bool = True
) -> list[DemoFile]:
    """What everyone hands in: some of each kind, and as many misconceptions as fit.

    Without `hostile` nobody hands in anything that must not run outside a box.
    """
    slots = [(student.id, name) for name in assignments for student in students]
    rng.shuffle(slots)
    odd = ["hostile"] if hostile else []
    kinds = [*odd, "cut short", "unanswered", "late", "late"][: max(0, len(slots) - 3)]
    kinds += list(DAMAGES)[: max(0, len(slots) // 6)]
    kinds += ["right"] * max(1, len(slots) // 8)
    known = {name: _misconceived(name, rng) for name in assignments}
    kinds += [""] * (len(slots) - len(kinds))
    handed_in: list[DemoFile] = []
    seen: set[str] = set()
    for number, ((student, assignment), kind) in enumerate(zip(slots, kinds, strict=True)):
        wrong = []
        if kind in ("", "late"):
            # Some mistakes are common: now and then someone makes one that another made before.
            wrong = _mistakes(known[assignment], seen, number % 15 == 14, rng)
            seen |= {answer.misconception for answer in wrong}
        kind = kind or ("misconception" if wrong else "right")
        handed_in.append(_hand_in(student, assignment, kind, wrong, rng))
    return sorted(handed_in, key=lambda file: (file.assignment, file.student))


def _misconceived(assignment: str, rng: random.Random) -> list[Answer]:
    """An answer for each known mistake; first those that no other assignment has."""
    found: dict[tuple[str, str], Answer] = {}
    for exercise in register.exercises(assignment):
        for answer in bank(exercise.id):
            if answer.misconception:
                found.setdefault((exercise.id, answer.misconception), answer)
    answers = list(found.values())
    rng.shuffle(answers)
    elsewhere = known_misconceptions([name for name in ASSIGNMENTS if name != assignment])
    return sorted(answers, key=lambda answer: answer.misconception in elsewhere)


def _mistakes(
    answers: list[Answer], seen: set[str], common: bool, rng: random.Random
) -> list[Answer]:
    """One student's mistakes: in each exercise one that nobody has made yet, if any is left."""
    if common and answers:
        return [rng.choice(answers[:3])]
    chosen: dict[str, Answer] = {}
    for answer in answers:
        if answer.misconception not in seen and answer.exercise not in chosen:
            chosen[answer.exercise] = answer
            seen = seen | {answer.misconception}
    if chosen or not answers:
        return list(chosen.values())
    return [rng.choice(answers)] if rng.random() < 0.4 else []


def _hand_in(
    student: str, assignment: str, kind: str, wrong: list[Answer], rng: random.Random
) -> DemoFile:
    notebook = copy.deepcopy(release_notebook(assignment))
    if kind != "unanswered":
        _fill(notebook, assignment, wrong, rng)
    if kind == "hostile":
        first = next(c for c in notebook.cells if _marks(c).get("solution"))
        first.source = HOSTILE + first.source
    when = DUE - timedelta(minutes=rng.randrange(20, 4000))
    if kind == "late":
        when = DUE + timedelta(hours=rng.choice([5, 30, 60]))
    content = nbformat.v4.writes(notebook).encode()
    name = f"{assignment}.ipynb"
    if kind == "cut short":
        content = content[: len(content) // 2]
    elif kind in DAMAGES:
        content = nbformat.v4.writes(DAMAGES[kind](notebook)).encode()
        name = rng.choice([name, f"Copy of {name}", f"{assignment} (2).ipynb"])
    return DemoFile(
        student, assignment, name, content, when, kind, tuple(a.misconception for a in wrong)
    )


def _fill(notebook: NotebookNode, assignment: str, wrong: list[Answer], rng: random.Random) -> None:
    sources = {}
    for exercise in register.exercises(assignment):
        right = [answer for answer in bank(exercise.id) if answer.right]
        if exercise.checked and right:
            sources[exercise.id] = rng.choice(right).source
        elif not exercise.checked and rng.random() < 0.85:
            sources[exercise.id] = rng.choice(WRITTEN)
    sources |= {answer.exercise: answer.source for answer in wrong}
    for cell in notebook.cells:
        grade_id = _marks(cell).get("grade_id")
        if grade_id in sources and _marks(cell).get("solution"):
            cell.source = sources[grade_id]


def _marks(cell: NotebookNode) -> dict:
    return cell.metadata.get("nbgrader", {})


def _lost_metadata(notebook: NotebookNode) -> NotebookNode:
    for number, cell in enumerate(notebook.cells):
        cell["metadata"], cell["id"] = NotebookNode(), f"cell-{number}"
    return notebook


def _duplicated(notebook: NotebookNode) -> NotebookNode:
    for place, cell in enumerate(notebook.cells):
        if _marks(cell).get("solution") and cell.cell_type == "code":
            twin = copy.deepcopy(cell)
            twin["id"] = "twin"
            notebook.cells.insert(place + 1, twin)
            return notebook
    return notebook


def _deleted_check(notebook: NotebookNode) -> NotebookNode:
    notebook["cells"] = [
        c for c in notebook.cells if not (_marks(c).get("grade") and c.cell_type == "code")
    ]
    return notebook


def _reordered(notebook: NotebookNode) -> NotebookNode:
    notebook.cells.insert(0, notebook.cells.pop())
    return notebook


def _saved_by_colab(notebook: NotebookNode) -> NotebookNode:
    for cell in notebook.cells:
        cell.pop("id", None)
        cell.metadata.pop("deletable", None)
        if cell.cell_type == "code":
            cell.metadata["outputId"] = "6f1d1c0e-2b7a-4a55-9d0c-0123456789ab"
            cell.metadata["colab"] = {"base_uri": "https://localhost:8080/"}
    notebook.metadata["colab"] = {"provenance": []}
    notebook["nbformat_minor"] = 0
    return notebook


DAMAGES = {
    "all metadata lost": _lost_metadata,
    "answer duplicated": _duplicated,
    "check deleted": _deleted_check,
    "cells moved": _reordered,
    "saved by Colab": _saved_by_colab,
}


def available_assignments(wanted: tuple[str, ...] = ()) -> list[str]:
    """The assignments of the demonstration that exist in this copy of the course."""
    found = [name for name in wanted or ASSIGNMENTS if name in release_names()]
    if wanted and len(found) < len(wanted):
        missing = ", ".join(name for name in wanted if name not in found)
        raise CourseError(f"This copy of the course has no notebook {missing}.")
    if not found:
        raise CourseError("No notebook has been built yet. Run `autograder build` first.")
    return found


def known_misconceptions(assignments: list[str]) -> set[str]:
    """The names of all mistakes that the bank has for some assignments."""
    return {
        answer.misconception
        for name in assignments
        for exercise in register.exercises(name)
        for answer in bank(exercise.id)
        if answer.misconception
    }


def misconceptions_shown(handed_in: list[DemoFile]) -> set[str]:
    return {name for file in handed_in for name in file.misconceptions}


def write_course(
    folder: Path, students: list[Student], handed_in: list[DemoFile], assignments: list[str]
) -> str:
    """The course directory with roster, settings, gradebook and handed-in files."""
    from nbgrader.api import Gradebook

    if folder.exists() and any(folder.iterdir()):
        raise CourseError(f"{folder} is not empty, so nothing was changed. Name another folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_roster(folder / "roster.csv", students)
        (folder / choices.FILE).write_text(course_file(assignments), encoding="utf-8")
        for file in handed_in:
            place = folder / "handed_in" / file.assignment / file.student
            place.mkdir(parents=True, exist_ok=True)
            (place / file.name).write_bytes(file.content)
            (place / "timestamp.txt").write_text(file.when.isoformat(sep=" "))
    except OSError as problem:
        raise CourseError(f"{folder} can't be written: {problem.strerror}.") from None
    url = gradebook_url(folder)
    for name in assignments:
        prepare_course(folder, name, url)
    with Gradebook(url) as gradebook:
        for student in students:
            gradebook.update_or_create_student(
                student.id,
                first_name=student.first_name,
                last_name=student.last_name,
                email=student.email,
                lms_user_id=student.lms_id,
            )
    return url


def course_file(assignments: list[str]) -> str:
    """The class's choices: when work is due, and what a late day costs."""
    due = [f"{name} = {DUE:%Y-%m-%dT%H:%M:%SZ}" for name in assignments]
    lines = ['timezone = "Europe/Berlin"', "", "[due]", *due]
    return "\n".join([*lines, "", "[late]", "share_a_day = 0.1  # of the points", ""])
