"""Gradescope: the zip for its programming assignments, and the results in its format.

The form is documented at gradescope-autograders.readthedocs.io ("Autograder Specifications"). What
matters here:

- A score at the top replaces the sum of the tests' scores. Nothing there limits the sum, and others
  found that it may exceed the points of the assignment (matthigger/gradescope_auto_py, issue 12):
  that is how extra credit counts.
- If a student can't see one of the tests, the total is hidden too. So what is for instructors only
  goes to the log, which students never see, and not into a hidden test.
- The texts of tests are plain by default; the one at the top is HTML unless it declares otherwise.
- A test without a number is numbered by its position, so either all have one or none.
- A results file can't make questions that people mark: those are added by hand to the outline.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import nbformat

from autograder import choices
from autograder.cell_names import exercise_of
from autograder.course_files import CourseError
from autograder.grading.record import ExerciseRecord, FindingRecord, SubmissionRecord
from autograder.grading.releases import release_names, release_of
from autograder.paths import ROOT
from course_utils import register
from course_utils.checks import judge

FILES = Path(__file__).with_name("files")
# The course as the grader needs it: no sources with solutions, no collections of answers.
CONTENTS = (
    *("autograder", "course_utils", "notebooks", "pyproject.toml", "constraints.txt"),
    *("README.md", "LICENSE", "tools/install.py", "tools/environment.py"),
)
LEFT_OUT = {"autograder/source", "autograder/mutants", "autograder/reference"}
GENERATED = ("__pycache__", ".egg-info", ".ipynb_checkpoints")
# When students see the verdicts, in our words and in Gradescope's.
SHOW = {"at-once": "visible", "after-due": "after_due_date", "after-published": "after_published"}
ONLY_INSTRUCTORS = "hidden"
EXECUTABLE, READABLE = 0o755, 0o600


@dataclass(frozen=True)
class Settings:
    """What the zip tells the grader inside the container.

    register: the exercises as a class uses them. full_marks, uncounted: its rules for exercises.
    """

    assignment: str
    show: str = "at-once"
    register: dict | None = None
    full_marks: tuple[str, ...] = ()
    uncounted: tuple[str, ...] = ()


class NoSuchAssignment(ValueError):
    """There is no such assignment; the message lists those that exist."""


def write_zip(target: Path, settings: Settings, course: Path | None = None) -> list[str]:
    """Write the zip for one assignment and return the names in it.

    With a course directory, its choices count, and the notebook that its students were given is
    graded.
    """
    if settings.assignment not in release_names():
        known = ", ".join(release_names())
        raise NoSuchAssignment(
            f"There is no assignment called {settings.assignment}. There are: {known}."
        )
    chosen = choices.use(course) if course else choices.Choices()
    release = given_notebook(settings.assignment, chosen, course)
    settings = replace(
        settings,
        register=register.used(),
        full_marks=tuple(sorted(chosen.full_marks)),
        uncounted=tuple(sorted(chosen.uncounted | chosen.left_out)),
    )
    refuse_own_numbers(settings.assignment)
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("setup.sh", "run_autograder"):
            add(archive, name, (FILES / name).read_bytes(), EXECUTABLE)
        add(archive, "settings.json", json.dumps(asdict(settings)).encode(), READABLE)
        add(archive, "release.ipynb", release.encode(), READABLE)
        packages = "".join(f"{name}\n" for name in chosen.packages)
        add(archive, "packages.txt", packages.encode(), READABLE)
        for path in course_files():
            name = f"course/{path.relative_to(ROOT).as_posix()}"
            add(archive, name, path.read_bytes(), READABLE)
        return archive.namelist()


def given_notebook(assignment: str, chosen: choices.Choices, course: Path | None) -> str:
    """What the students were given: the course directory's file, or else what the class chose."""
    from autograder import build  # the copy in the container has no sources to build from

    if course is None:
        return release_of(ROOT, assignment)
    if assignment not in chosen.names:
        raise CourseError(
            f"{course / choices.FILE} does not use {assignment}. The class has: "
            f"{', '.join(chosen.names)}."
        )
    if not (course / "release" / assignment / f"{assignment}.ipynb").is_file():
        try:
            return build.build([assignment])[assignment]
        except build.BuildError as problem:
            raise CourseError(str(problem)) from problem
    text = release_of(course, assignment)
    notebook, changed = nbformat.reads(text, as_version=4), False
    for cell in notebook.cells:
        own = cell.metadata.get("nbgrader", {})
        if own.get("grade"):
            worth = chosen.points.get(exercise_of(own["grade_id"]), own["points"])
            changed, own["points"] = changed or worth != own["points"], worth
    return build.to_json(notebook) if changed else text


def refuse_own_numbers(assignment: str) -> None:
    """Gradescope doesn't pass on ids of the roster, so nobody's own numbers are known there."""
    if not register.setting("own_numbers"):
        return
    if any(judge.is_personal(e.id) for e in register.exercises(assignment) if e.checked):
        raise CourseError(
            f"{choices.FILE} has own_numbers = true, with which {assignment} can't be graded on "
            "Gradescope: the platform does not report whose numbers a notebook should have. Grade "
            "this assignment with `autograder grade` from Gradescope's export, or set it to false."
        )


def add(archive: zipfile.ZipFile, name: str, content: bytes, mode: int) -> None:
    """The same content gives the same bytes: the zip contains no times of files."""
    info = zipfile.ZipInfo(name)
    info.external_attr = (0o100000 | mode) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, content)


def course_files(with_sources: bool = False) -> list[Path]:
    """What the grader needs; with a course directory, also the sources."""
    found = []
    for name in CONTENTS:
        place = ROOT / name
        found += sorted(place.rglob("*")) if place.is_dir() else [place]
    left_out = set() if with_sources else LEFT_OUT
    return [p for p in found if p.is_file() and belongs(p.relative_to(ROOT), left_out)]


def belongs(path: Path, left_out: set[str]) -> bool:
    parents = {parent.as_posix() for parent in path.parents}
    return not parents & left_out and not any(
        part.endswith(GENERATED) or part.endswith(".pyc") for part in path.parts
    )


def points_to_set(assignment: str, uncounted: Iterable[str] = ()) -> float:
    """The points to enter as "Autograder points": checked exercises, without extra credit."""
    counted = (e for e in register.exercises(assignment) if e.checked and not e.extra)
    return sum(e.points for e in counted if e.id not in uncounted)


# --- results.json ---


def results(record: SubmissionRecord, settings: Settings, seconds: float = 0, **more) -> dict:
    """A graded or flagged submission in Gradescope's format."""
    tests = []
    for number, exercise in enumerate(record.exercises, 1):
        tests += exercise_tests(exercise, number, settings)
    for number, (name, written) in enumerate(record.written.items(), len(record.exercises) + 1):
        tests.append(written_test(name, number, written.answered))
    found = {
        "output": summary(record),
        "output_format": "text",
        "execution_time": round(seconds),
        "stdout_visibility": ONLY_INSTRUCTORS,
        "tests": tests,
        "extra_data": {"seeds": {e.exercise: list(e.seeds) for e in record.exercises}, **more},
    }
    if not any("score" in test for test in tests):
        found["score"] = 0.0  # a file must have a score; the text explains what it means
    return found


def exercise_tests(exercise: ExerciseRecord, number: int, settings: Settings) -> list[dict]:
    """One test per property of an exercise, with its share of the points."""
    entry = register.exercise(exercise.exercise)
    findings = exercise.findings or (
        FindingRecord(entry.title, exercise.passed, exercise.points, exercise.max_points),
    )
    notes = [" (extra credit)"] if entry.extra else []
    full, counts = entry.id in settings.full_marks, entry.id not in settings.uncounted
    notes += [" (full marks for everybody)"] if full else [] if counts else [" (does not count)"]
    tests = []
    for place, finding in enumerate(findings, 1):
        test = {
            "name": f"{entry.title}: {finding.name}{''.join(notes)}",
            "number": f"{number}.{place}",
            "score": round(finding.max_points if full else finding.points, 4),
            "max_score": round(finding.max_points, 4),
            "status": "passed" if finding.passed else "failed",
            "output": explanation(exercise, finding, first=place == 1),
            "output_format": "text",
            "visibility": SHOW[settings.show],
            "tags": [exercise.exercise, *(["extra credit"] if entry.extra else [])],
        }
        if not counts:  # a test without points only informs
            del test["score"], test["max_score"]
        tests.append(test)
    return tests


def explanation(exercise: ExerciseRecord, finding: FindingRecord, first: bool) -> str:
    """The result for a property; the diagnosis of the exercise comes once, with its first test."""
    lines = []
    if first and not exercise.passed:
        said = exercise.message if exercise.box != "ok" else exercise.sentence
        lines += [said, exercise.hint]
    lines += [finding.message, "" if finding.passed else finding.hint]
    # a cell's error is in both; each line is shown once
    return "\n".join(dict.fromkeys(line for text in lines for line in text.splitlines() if line))


def written_test(name: str, number: int, answered: bool) -> dict:
    """A box with text but no points, which shows at once whether there is an answer."""
    said = "A person marks this answer." if answered else "There is no answer here."
    title = register.exercise(name).title
    return {
        "name": f"{title[:1].upper()}{title[1:]} (written answer)",
        "number": str(number),
        "output": said,
        "output_format": "text",
        "visibility": "visible",
    }


def summary(record: SubmissionRecord) -> str:
    """What everybody sees at the top: whether it could be graded, and what was repaired."""
    lines = [f"Graded: {record.source_name}"]
    if not record.graded:
        lines = [
            "This submission could not be graded, so it has no points yet. Hand in the notebook "
            f"{record.assignment}.ipynb again, or ask your instructors, who can see the reason."
        ]
    lines += [f"Mended: {repair}" for repair in record.repairs]
    return "\n".join(lines)
