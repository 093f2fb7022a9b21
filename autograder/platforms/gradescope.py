"""Gradescope: the zip that its programming assignments take, and the results in its form.

The form is documented at gradescope-autograders.readthedocs.io ("Autograder Specifications"). A
results file can give points and show texts. It can't make questions that people mark: those are
added by hand to the assignment's outline.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path

from autograder.grading.record import ExerciseRecord, FindingRecord, SubmissionRecord
from autograder.grading.releases import release_names, release_of
from autograder.paths import ROOT
from course_utils import register

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
HIDDEN = "hidden"
EXECUTABLE, READABLE = 0o755, 0o600


@dataclass(frozen=True)
class Settings:
    """What the zip tells the grader inside the container."""

    assignment: str
    show: str = "at-once"


class NoSuchAssignment(ValueError):
    """A sentence with the name that was asked for and those that there are."""


def write_zip(target: Path, settings: Settings, course: Path | None = None) -> list[str]:
    """Write the zip for one assignment and return the names in it.

    With a course directory, the notebook that its students were given is graded.
    """
    if settings.assignment not in release_names():
        known = ", ".join(release_names())
        raise NoSuchAssignment(
            f"There is no assignment called {settings.assignment}. There are: {known}."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("setup.sh", "run_autograder"):
            add(archive, name, (FILES / name).read_bytes(), EXECUTABLE)
        add(archive, "settings.json", json.dumps(asdict(settings)).encode(), READABLE)
        release = release_of(course or ROOT, settings.assignment)
        add(archive, "release.ipynb", release.encode(), READABLE)
        for path in course_files():
            name = f"course/{path.relative_to(ROOT).as_posix()}"
            add(archive, name, path.read_bytes(), READABLE)
        return archive.namelist()


def add(archive: zipfile.ZipFile, name: str, content: bytes, mode: int) -> None:
    """The same content gives the same bytes: no file's own time is in the zip."""
    info = zipfile.ZipInfo(name)
    info.external_attr = (0o100000 | mode) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, content)


def course_files(with_sources: bool = False) -> list[Path]:
    """What the grader needs; a course directory of one's own also needs the sources."""
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


def points_to_set(assignment: str) -> float:
    """What an instructor enters as "Autograder points": checked exercises, no extra credit."""
    return sum(e.points for e in register.exercises(assignment) if e.checked and not e.extra)


# --- results.json ---


def results(record: SubmissionRecord, show: str = "at-once", seconds: float = 0, **more) -> dict:
    """A graded, or flagged, submission in Gradescope's form."""
    visibility = SHOW[show]
    tests = []
    for number, exercise in enumerate(record.exercises, 1):
        tests += exercise_tests(exercise, number, visibility)
    for name, written in record.written.items():
        tests.append(written_test(name, written.answered))
    if record.flags:
        lines = "\n".join(f"- {flag}" for flag in record.flags)
        tests.append(plain_test("For instructors: please look at this submission", lines, HIDDEN))
    found = {
        "output": summary(record),
        "output_format": "text",
        "execution_time": round(seconds),
        "stdout_visibility": HIDDEN,
        "tests": tests,
        "extra_data": {"seeds": {e.exercise: list(e.seeds) for e in record.exercises}, **more},
    }
    if not record.graded:
        found["score"] = 0.0  # a file must have a score; the text and the flags tell what it means
    return found


def exercise_tests(exercise: ExerciseRecord, number: int, visibility: str) -> list[dict]:
    """A test for each property of an exercise, with its share of the points."""
    entry = register.exercise(exercise.exercise)
    findings = exercise.findings or (
        FindingRecord(entry.title, exercise.passed, exercise.points, exercise.max_points),
    )
    tests = []
    for place, finding in enumerate(findings, 1):
        extra = " (extra credit)" if entry.extra else ""
        tests.append(
            {
                "name": f"{entry.title}: {finding.name}{extra}",
                "number": f"{number}.{place}",
                "score": round(finding.points, 4),
                "max_score": round(finding.max_points, 4),
                "status": "passed" if finding.passed else "failed",
                "output": explanation(exercise, finding, first=place == 1),
                "output_format": "text",
                "visibility": visibility,
                "tags": [exercise.exercise, *(["extra credit"] if entry.extra else [])],
            }
        )
    return tests


def explanation(exercise: ExerciseRecord, finding: FindingRecord, first: bool) -> str:
    """What came of a property; the exercise's own diagnosis comes once, with its first test."""
    lines = []
    if first and not exercise.passed:
        said = exercise.message if exercise.box != "ok" else exercise.sentence
        lines += [said, exercise.hint]
    lines += [finding.message, "" if finding.passed else finding.hint]
    # a cell's error is in both; each line is shown once
    return "\n".join(dict.fromkeys(line for text in lines for line in text.splitlines() if line))


def written_test(name: str, answered: bool) -> dict:
    title = register.exercise(name).title
    said = "A person marks this answer." if answered else "There is no answer here."
    return plain_test(f"{title} (written answer)", said, "visible")


def plain_test(name: str, output: str, visibility: str) -> dict:
    """A box with text and without points."""
    return {"name": name, "output": output, "output_format": "text", "visibility": visibility}


def summary(record: SubmissionRecord) -> str:
    """What everybody sees at the top: whether it could be graded, and what was mended."""
    lines = [f"Graded: {record.source_name}"]
    if not record.graded:
        lines = [
            "This submission could not be graded, so it has no points yet. Hand in the notebook "
            f"{record.assignment}.ipynb again, or ask your instructors, who can see the reason."
        ]
    lines += [f"Mended: {repair}" for repair in record.repairs]
    return "\n".join(lines)
