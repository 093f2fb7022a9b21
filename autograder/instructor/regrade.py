"""Grades again what is in the course directory already, and tells whose points changed.

The notebooks in `submitted/` are the ones that intake rebuilt, so only the judge runs again: for
everyone or for some students, for all exercises or for some. Marks given by hand are not touched.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook

from autograder.box import Box
from autograder.grading import record, workers
from autograder.grading.answers import CHECK, checked_exercises
from autograder.grading.course import CourseError, course_config, only_writer
from autograder.grading.grade import Answered, Grades, Task, as_records, draw_seeds, grade
from autograder.grading.gradebook import Entry, GradebookWriter
from autograder.grading.outputs import comment_on, points_shown, verdict_outputs
from autograder.instructor.course import Course


@dataclass(frozen=True)
class Change:
    """One exercise of one student: the points before and now, and any mark by hand."""

    student: str
    exercise: str
    before: float
    after: float
    by_hand: float | None = None

    @property
    def changed(self) -> bool:
        return abs(self.before - self.after) > 1e-9


@dataclass(frozen=True)
class Regraded:
    """What a regrading did."""

    run: record.Run
    changes: tuple[Change, ...]
    problems: tuple[str, ...]


def regrade(
    course: Course,
    assignment: str,
    students: Sequence[str] = (),
    exercises: Sequence[str] = (),
    *,
    jobs: int = 2,
    unsafe: bool = False,
    same_seeds: bool = False,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Regraded:
    """Judge the stored submissions of an assignment again."""
    started = time.monotonic()
    verdicts = {v["student"]: v for v in record.verdicts(course.root, assignment)}
    chosen = _chosen(course, assignment, students, verdicts)
    notebooks = {name: _read(course, "submitted", name, assignment) for name in chosen}
    wanted = _exercises(notebooks.values(), exercises, assignment)
    seeds = draw_seeds(wanted)
    if same_seeds:
        seeds |= _last_seeds(verdicts, wanted)
    with only_writer(course.root):
        run = record.new_run(
            assignment, {e: list(s) for e, s in seeds.items()}, "none" if unsafe else "box", "local"
        )
        run.submissions = len(chosen)
        by_hand = _marks_by_hand(course, assignment)
        tasks = [Task(name, assignment, _only(notebooks[name], wanted), seeds) for name in chosen]
        writer = GradebookWriter(course.db_url, assignment, course_config(course.root))
        changes, problems = [], []
        try:
            with Box(jobs, unsafe=unsafe) as box:
                work = partial(grade, box=box)
                for done, (index, grades) in enumerate(workers.side_by_side(work, tasks, jobs), 1):
                    name = chosen[index]
                    if isinstance(grades, BaseException):
                        problems.append(f"{name}: it could not be graded again ({grades}).")
                    else:
                        old = verdicts[name]
                        changes += _changes(name, old, grades, by_hand)
                        _store(course, run, old, grades, seeds, writer)
                    tell(done, len(tasks))
        finally:
            writer.close()
        run.graded, run.flagged = len(chosen) - len(problems), len(problems)
        run.problems = [{"student": p.split(":")[0], "message": p} for p in problems]
        run.seconds = round(time.monotonic() - started, 2)
        run.finished = record.now()
        record.write_run(course.root, run)
    changes.sort(key=lambda change: (change.student, change.exercise))
    return Regraded(run, tuple(changes), tuple(problems))


def _chosen(
    course: Course, assignment: str, students: Sequence[str], verdicts: dict[str, dict]
) -> list[str]:
    stored = [
        name
        for name, verdict in verdicts.items()
        if verdict["status"] == "graded"
        and course.folder("submitted", record.folder_name(name), assignment).is_dir()
    ]
    missing = [name for name in students if name not in stored]
    if missing:
        raise CourseError(
            f"{', '.join(missing)} has no graded submission of {assignment} in {course.root}. "
            f"Hand it to `autograder grade {assignment}` first."
        )
    chosen = [name for name in stored if not students or name in students]
    if not chosen:
        raise CourseError(f"Nothing of {assignment} has been graded yet in {course.root}.")
    return chosen


def _exercises(
    notebooks: Iterable[NotebookNode], wanted: Sequence[str], assignment: str
) -> list[str]:
    there = list(dict.fromkeys(e for nb in notebooks for e in checked_exercises(nb)))
    unknown = [name for name in wanted if name not in there]
    if unknown:
        raise CourseError(
            f"{assignment} has no checked exercise {', '.join(unknown)}. It has: "
            f"{', '.join(there)}."
        )
    return list(wanted) or there


def _last_seeds(verdicts: dict[str, dict], wanted: list[str]) -> dict[str, tuple[int, ...]]:
    found = {}
    for verdict in sorted(verdicts.values(), key=lambda v: v["run"]):
        for exercise in verdict["exercises"]:
            if exercise["exercise"] in wanted:
                found[exercise["exercise"]] = tuple(exercise["seeds"])
    return found


def _marks_by_hand(course: Course, assignment: str) -> dict[tuple[str, str], float]:
    with Gradebook(course.db_url) as gradebook:
        return {
            (submission.student_id, grade.cell.name): grade.manual_score
            for submission in gradebook.assignment_submissions(assignment)
            for notebook in submission.notebooks
            for grade in notebook.grades
            if grade.manual_score is not None
        }


def _only(notebook: NotebookNode, wanted: list[str]) -> bytes:
    """The notebook with the check cells of the wanted exercises alone."""
    kept = copy.copy(notebook)
    kept["cells"] = [
        cell for cell in notebook.cells if not _is_check(cell) or _exercise_of(cell) in wanted
    ]
    return nbformat.v4.writes(kept).encode()


def _changes(
    student: str, old: dict, grades: Grades, by_hand: dict[tuple[str, str], float]
) -> list[Change]:
    before = {e["exercise"]: e["points"] for e in old["exercises"]}
    return [
        Change(
            student,
            answer.verdict.exercise,
            before.get(answer.verdict.exercise, 0.0),
            answer.verdict.points,
            by_hand.get((student, answer.verdict.exercise + CHECK)),
        )
        for answer in grades.answers
    ]


def _store(
    course: Course,
    run: record.Run,
    old: dict,
    grades: Grades,
    seeds: dict[str, tuple[int, ...]],
    writer: GradebookWriter,
) -> None:
    """Notebook, gradebook, record: in this order, as a record says that all is done."""
    student, assignment = old["student"], run.assignment
    answers = {answer.verdict.exercise: answer for answer in grades.answers}
    path = _path(course, "autograded", student, assignment)
    scores = {}
    if path.is_file():
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if _is_check(cell) and _exercise_of(cell) in answers:
                answer = answers[_exercise_of(cell)]
                cell.outputs = verdict_outputs(answer, cell)
                grade_id = cell.metadata.nbgrader["grade_id"]
                scores[grade_id] = float(points_shown(answer.verdict.points, cell))
        record.write_atomically(path, nbformat.v4.writes(notebook).encode())
    comments = {name: comment_on(answer) for name, answer in answers.items()}
    writer.write([Entry(student, scores, comments, {}, old)])
    record.write_json(
        record.verdict_path(course.root, assignment, student), _verdict(run, old, grades, seeds)
    )


def _verdict(run: record.Run, old: dict, grades: Grades, seeds: dict[str, tuple[int, ...]]) -> dict:
    fresh = {e["exercise"]: e for e in as_records(grades, seeds)}
    exercises = [fresh.pop(e["exercise"], e) for e in old["exercises"]] + list(fresh.values())
    flags = [f for f in old["flags"] if not f.startswith(tuple(f"{e}: " for e in seeds))]
    flags += [_flag(answer) for answer in grades.answers if _is_alarming(answer)]
    return {
        **old,
        "run": run.run,
        "exercises": exercises,
        "points": sum(e["points"] for e in exercises),
        "max_points": sum(e["max_points"] for e in exercises),
        "flags": flags,
        "seconds": grades.seconds,
    }


def _is_alarming(answer: Answered) -> bool:
    return answer.box not in ("ok", "timeout", "memory")


def _flag(answer: Answered) -> str:
    return f"{answer.verdict.exercise}: {answer.message}"


def _is_check(cell: NotebookNode) -> bool:
    own = cell.metadata.get("nbgrader", {})
    return cell.cell_type == "code" and bool(own.get("grade")) and not own.get("solution")


def _exercise_of(cell: NotebookNode) -> str:
    return cell.metadata.nbgrader["grade_id"].removesuffix(CHECK)


def _path(course: Course, step: str, student: str, assignment: str) -> Path:
    return course.folder(step, record.folder_name(student), assignment) / f"{assignment}.ipynb"


def _read(course: Course, step: str, student: str, assignment: str) -> NotebookNode:
    path = _path(course, step, student, assignment)
    try:
        return nbformat.read(path, as_version=4)
    except Exception as problem:  # nbformat raises many kinds for a damaged file
        raise CourseError(f"{path} can't be read: {problem}.") from None
