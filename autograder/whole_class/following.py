"""Applies the choices of a class: builds its release, and updates what was graded already.

The release of a class is in its course directory: `source/` and `release/`, as in nbgrader. It is
built again if the register, the source or course.toml has changed since it was entered.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook

from autograder import build, choices
from autograder.cell_names import check_cell, exercise_of, rubric_cell
from autograder.course_files import CourseError, write_atomically
from autograder.grading import archive
from autograder.grading.record import ExerciseRecord, SubmissionRecord
from autograder.nbgrader_parts import configuration, follow
from autograder.nbgrader_parts.follow import Entered, Following, Wanted
from autograder.nbgrader_parts.marks import max_score
from autograder.nbgrader_parts.release import ReleasedCell, ReleaseFailed, generate_assignment
from course_utils import register
from course_utils.checks import panel

Agree = Callable[[Following], bool]


class NotAgreed(CourseError):
    """The instructor was shown what would change and declined, or was not there to answer."""

    def __init__(self) -> None:
        super().__init__("Nothing was written. To write this, run the command again with --yes.")


def always(following: Following) -> bool:
    return True


def enter(course: Path, assignment: str, url: str) -> None:
    """Make an assignment that the gradebook does not have yet, from this class's choices."""
    chosen = choices.use(course)
    _check_used(course, assignment, chosen)
    source = _own_path(course, assignment)
    theirs = source.is_file()
    if not theirs:
        _build_source(course, assignment)
    cells = _generate(course, course, assignment, url, into_gradebook=True)
    entered = Entered(source="the instructor's own" if theirs else _digest(source))
    entered = replace(entered, fingerprint=_fingerprint(course, assignment, chosen, entered))
    wanted = Wanted(tuple(cells), chosen.full_marks, chosen.uncounted)
    if wanted.full_marks or wanted.uncounted:
        follow.apply(url, assignment, wanted, entered, {})
    _remember(course, assignment, url, entered, wanted, {})


def _check_used(course: Path, assignment: str, chosen: choices.Choices) -> None:
    if assignment not in chosen.names:
        raise CourseError(
            f"{course / choices.FILE} does not use {assignment}. The class has: "
            f"{', '.join(chosen.names)}."
        )


def bring_along(course: Path, assignment: str, url: str, agree: Agree = always) -> bool:
    """Update gradebook, records and notebooks; returns whether anything changed.

    Raises NotAgreed if `agree`, which is shown what changes for whom, says no: nothing is written.
    """
    entered = follow.read_entered(course, assignment)
    chosen = _effective(choices.read(course), _graded_exercises(url, assignment))
    _check_used(course, assignment, chosen)
    choices.put_in_use(chosen)
    fingerprint = _fingerprint(course, assignment, chosen, entered)
    if fingerprint == entered.fingerprint:
        return False
    records = {entry.student: entry for entry in archive.records(course, assignment)}
    edited = _is_edited(course, assignment, entered)
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        made = Path(folder)
        cells = _build(course, made, assignment, chosen, entered)
        wanted = Wanted(tuple(cells), chosen.full_marks, chosen.uncounted)
        following = follow.preview(url, assignment, wanted, entered, records)
        if following and not agree(following):
            raise NotAgreed
        by_hand = follow.apply(url, assignment, wanted, entered, records)
        for step in ("source", "release"):
            name = f"{step}/{assignment}/{assignment}.ipynb"
            write_atomically(course / name, (made / name).read_bytes())
    bring_files_along(course, assignment, wanted, records)
    source = entered.source if edited else _digest(_own_path(course, assignment))
    _remember(course, assignment, url, Entered(fingerprint, source), wanted, by_hand)
    return bool(following)


def _remember(
    course: Path,
    assignment: str,
    url: str,
    entered: Entered,
    wanted: Wanted,
    by_hand: Mapping[str, Mapping[str, follow.Given]],
) -> None:
    with Gradebook(url) as gradebook:
        most = max_score(gradebook, assignment)
    full = tuple(sorted(wanted.full_marks))
    entered = replace(entered, max_points=most, full_marks=full, by_hand=by_hand)
    follow.write_entered(course, assignment, entered)


def _effective(chosen: choices.Choices, graded: frozenset[str]) -> choices.Choices:
    """A graded exercise stays in the notebooks, since answers may build on it; it only stops counting."""
    kept = chosen.left_out & graded
    return replace(chosen, left_out=chosen.left_out - kept, uncounted=chosen.uncounted | kept)


def _graded_exercises(url: str, assignment: str) -> frozenset[str]:
    """The exercises in the gradebook, if somebody has handed in the assignment already."""
    with Gradebook(url) as gradebook:
        notebook = gradebook.find_notebook(assignment, assignment)
        if not notebook.submissions:
            return frozenset()
        return frozenset(exercise_of(cell.name) for cell in notebook.grade_cells)


# ---- the release of a class ----


def _own_path(course: Path, assignment: str) -> Path:
    return course / "source" / assignment / f"{assignment}.ipynb"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _is_edited(course: Path, assignment: str, entered: Entered) -> bool:
    """Whether the instructor changed the source in the course directory, and so owns it."""
    now = _digest(_own_path(course, assignment))
    return bool(entered.source and now and now != entered.source)


def _fingerprint(course: Path, assignment: str, chosen: choices.Choices, entered: Entered) -> str:
    """A digest that changes with anything the assignment is made from."""
    used = choices.content(chosen)
    path = build.SOURCES / f"{assignment}.py"
    edited = _is_edited(course, assignment, entered)
    parts = [
        _digest(_own_path(course, assignment)) if edited else _digest(path),
        used["course"],
        used["notebook"],
        [entry for entry in used["exercise"] if entry["notebook"] == assignment],
        sorted(chosen.full_marks),
        sorted(chosen.uncounted),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _build(
    course: Path, made: Path, assignment: str, chosen: choices.Choices, entered: Entered
) -> list[ReleasedCell]:
    """Source and release of the class in the folder `made`; the cells for the gradebook."""
    before, target = _own_path(course, assignment), _own_path(made, assignment)
    if _is_edited(course, assignment, entered):
        target.parent.mkdir(parents=True)
        shutil.copy(before, target)
    else:
        _build_source(made, assignment)
    notebook = nbformat.read(target, as_version=4)
    if before.is_file():
        _keep_retired(notebook, nbformat.read(before, as_version=4))
    for cell in notebook.cells:
        own = cell.metadata.get("nbgrader", {})
        if own.get("grade"):
            own["points"] = chosen.points.get(exercise_of(own["grade_id"]), own["points"])
    target.write_text(build.to_json(notebook), encoding="utf-8")
    return _generate(course, made, assignment, "", into_gradebook=False)


def _build_source(course: Path, assignment: str) -> None:
    try:
        build.write_source_tree(course, [assignment])
    except build.BuildError as problem:
        raise CourseError(str(problem)) from problem


def _generate(
    course: Path, root: Path, assignment: str, url: str, into_gradebook: bool
) -> list[ReleasedCell]:
    config = configuration.for_course(course, assignment, url)
    config.CourseDirectory.root = str(root.resolve())
    # nbgrader's steps open the gradebook by this name, and PostgreSQL insists that it is the same
    config.CourseDirectory.course_id = "default_course"
    try:
        return generate_assignment(config, into_gradebook)
    except ReleaseFailed as problem:
        raise CourseError(
            f"nbgrader could not enter {assignment} into the gradebook: {problem}. "
            f"Try `nbgrader generate_assignment {assignment}` in {course} to see why."
        ) from problem


def _keep_retired(notebook: NotebookNode, before: NotebookNode) -> None:
    """Put exercises that the class has and the course has retired before the closing cells."""
    there = {cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells}
    ids = {cell.get("id") for cell in notebook.cells}
    retired = {e.id for e in register.ever() if e.retired}
    kept = []
    for index, cell in enumerate(before.cells):
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name is None or name in there or not _belongs(name, retired):
            continue
        above = before.cells[max(0, index - 1)]  # a notebook begins with its title
        is_question = "nbgrader" not in above.metadata and above.get("id") not in ids
        if name in retired and is_question:
            kept.append(above)
        kept.append(cell)
    notebook.cells[-2:-2] = kept


def _belongs(name: str, exercises: set[str]) -> bool:
    return any(name in (e, check_cell(e), rubric_cell(e)) for e in exercises)


# ---- what was graded already ----


def bring_files_along(
    course: Path, assignment: str, wanted: Wanted, records: Mapping[str, SubmissionRecord]
) -> None:
    """Write the new points into records and notebooks: the judge's, not the gradebook's."""
    points = {cell.name: cell.points for cell in wanted.cells if cell.points is not None}
    for student, record in records.items():
        new = _rescaled(record, points)
        folder = archive.folder_name(student)
        for step in ("submitted", "autograded"):
            path = course / step / folder / assignment / f"{assignment}.ipynb"
            if path.is_file():
                _bring_notebook_along(path, points, record, new)
        if new != record:
            archive.write_record(course, new)


def _rescaled(record: SubmissionRecord, points: Mapping[str, float]) -> SubmissionRecord:
    def worth(entry: ExerciseRecord) -> ExerciseRecord:
        most = points.get(check_cell(entry.exercise), entry.max_points)
        if most == entry.max_points or not entry.max_points:
            return entry
        factor = most / entry.max_points
        findings = tuple(
            replace(f, points=f.points * factor, max_points=f.max_points * factor)
            for f in entry.findings
        )
        earned = round(entry.points * factor, 6)
        return replace(entry, points=earned, max_points=most, findings=findings)

    return replace(record, exercises=tuple(map(worth, record.exercises)))


def _bring_notebook_along(
    path: Path, points: Mapping[str, float], old: SubmissionRecord, new: SubmissionRecord
) -> None:
    notebook = nbformat.read(path, as_version=4)
    changed = False
    for cell in notebook.cells:
        own = cell.metadata.get("nbgrader", {})
        name = own.get("grade_id", "")
        if not own.get("grade") or points.get(name, own["points"]) == own["points"]:
            continue
        own["points"], changed = points[name], True
        before, after = old.exercise(exercise_of(name)), new.exercise(exercise_of(name))
        if before is not None and after is not None:
            _rewrite_outputs(cell, before, after)
    if changed:
        write_atomically(path, archive.notebook_bytes(notebook))


def _rewrite_outputs(cell: NotebookNode, old: ExerciseRecord, new: ExerciseRecord) -> None:
    """The points that the judge printed into a check cell, as they are now."""
    words = {_of(old.points, old.max_points): _of(new.points, new.max_points)}
    for before, after in zip(old.findings, new.findings, strict=True):
        words[_of(before.points, before.max_points)] = _of(after.points, after.max_points)

    pattern = re.compile(f"(?:{'|'.join(map(re.escape, words))})(?=[ )])")

    def renew(text: str) -> str:
        return pattern.sub(lambda found: words[found[0]], text)

    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            output.text = renew(output.text)
        elif output.output_type == "execute_result":
            output.data["text/plain"] = f"{new.points:.10g}"
        elif "data" in output:
            output.data.update({kind: renew(text) for kind, text in output.data.items()})


def _of(points: float, most: float) -> str:
    return f"({panel.rounded(points)} of {panel.rounded(most)}"
