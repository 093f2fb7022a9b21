"""Updates a gradebook when points, exercises or the release change after grading.

nbgrader refuses to add or remove cells once something was handed in, and never changes a score when
points change. Here a cell's points may change, cells may be added, and an exercise may stop counting
or give everybody full marks. A mark by hand keeps its share: 1 of 2 becomes 2 of 4. What was given
before is remembered, so that a change can be taken back without loss.

`preview` lists what would change for whom and writes nothing; `apply` writes it, all or nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from nbgrader.api import Comment, Grade, Gradebook, GradeCell, Notebook, SolutionCell, SourceCell

from autograder.cell_names import exercise_of
from autograder.course_files import write_atomically
from autograder.grading.archive import FOLDER
from autograder.grading.record import SubmissionRecord
from autograder.nbgrader_parts.marks import max_score, number, read_sheets
from autograder.nbgrader_parts.release import ReleasedCell

POINTS = re.compile(r"^[\d.e-]+ of [\d.e-]+ points\.")


class Given(NamedTuple):
    """A mark by hand, the points it was out of, and the fingerprint of the text it was for."""

    mark: float
    most: float
    text: str = ""


@dataclass(frozen=True)
class Wanted:
    """What an assignment should be: its cells, and exercises with special rules."""

    cells: tuple[ReleasedCell, ...]
    full_marks: frozenset[str] = frozenset()
    uncounted: frozenset[str] = frozenset()

    def points(self) -> dict[str, float]:
        """What every graded cell is worth in the gradebook."""
        return {
            cell.name: 0.0 if exercise_of(cell.name) in self.uncounted else cell.points
            for cell in self.cells
            if cell.points is not None
        }


@dataclass(frozen=True)
class Entered:
    """What was last entered into the gradebook, and the marks by hand as they were given.

    fingerprint: of everything that the assignment is made from. source: of the file in `source/` as
    we wrote it, so that an instructor's own version is noticed.
    """

    fingerprint: str = ""
    source: str = ""
    max_points: float | None = None
    full_marks: tuple[str, ...] = ()
    by_hand: Mapping[str, Mapping[str, Given]] = field(default_factory=dict)


@dataclass(frozen=True)
class StudentChange:
    """One student's points for the assignment, before and after."""

    student: str
    name: str
    before: float
    after: float


@dataclass(frozen=True)
class Following:
    """What changes in the assignment, and for whom."""

    assignment: str
    sentences: tuple[str, ...]
    students: tuple[StudentChange, ...]
    max_before: float
    max_after: float

    def __bool__(self) -> bool:
        return bool(self.sentences or self.students)


def read_entered(course: Path, assignment: str) -> Entered:
    try:
        content = json.loads(_path(course, assignment).read_text(encoding="utf-8"))
        return Entered(
            content["fingerprint"],
            content["source"],
            content["max_points"],
            tuple(content["full_marks"]),
            {
                student: {cell: Given(*given) for cell, given in own.items()}
                for student, own in content["by_hand"].items()
            },
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Entered()


def write_entered(course: Path, assignment: str, entered: Entered) -> None:
    content = json.dumps(entered.__dict__, ensure_ascii=False, indent=1)
    write_atomically(_path(course, assignment), (content + "\n").encode())


def _path(course: Path, assignment: str) -> Path:
    return course / FOLDER / "entered" / f"{assignment}.json"


def preview(
    url: str,
    assignment: str,
    wanted: Wanted,
    entered: Entered,
    records: Mapping[str, SubmissionRecord],
) -> Following:
    """What `apply` would change; nothing is written."""
    with _uncommitted(url) as gradebook:
        before = {sheet.student: sheet.raw for sheet in read_sheets(gradebook, assignment)}
        known = entered.max_points
        max_before = max_score(gradebook, assignment) if known is None else known
        sentences, _ = _change(gradebook, assignment, wanted, entered, records)
        gradebook.db.flush()
        gradebook.db.expire_all()
        sheets = read_sheets(gradebook, assignment)
        max_after = max_score(gradebook, assignment)
    changes = (StudentChange(s.student, s.name, before[s.student], s.raw) for s in sheets)
    students = tuple(change for change in changes if abs(change.before - change.after) > 1e-9)
    return Following(assignment, tuple(sentences), students, max_before, max_after)


def apply(
    url: str,
    assignment: str,
    wanted: Wanted,
    entered: Entered,
    records: Mapping[str, SubmissionRecord],
) -> dict[str, dict[str, Given]]:
    """Write it in one transaction; returns the marks by hand as they were given."""
    with _uncommitted(url) as gradebook:
        _, by_hand = _change(gradebook, assignment, wanted, entered, records)
        gradebook.db().commit()
    return by_hand


@contextmanager
def _uncommitted(url: str) -> Iterator[Gradebook]:
    """A gradebook whose methods commit nothing: whatever is not committed at the end is undone."""
    with Gradebook(url) as gradebook:
        gradebook.db.commit = lambda: None
        try:
            yield gradebook
        finally:
            gradebook.db().rollback()
            del gradebook.db.commit


def _change(
    gradebook: Gradebook,
    assignment: str,
    wanted: Wanted,
    entered: Entered,
    records: Mapping[str, SubmissionRecord],
) -> tuple[list[str], dict[str, dict[str, Given]]]:
    """Change the objects of the session; sentences about cells, and marks by hand as given."""
    notebook = gradebook.find_notebook(assignment, assignment)
    _change_texts(gradebook, notebook, wanted.cells)
    points = wanted.points()
    by_hand = {student: dict(own) for student, own in entered.by_hand.items()}
    graded = {cell.name: cell for cell in notebook.grade_cells}
    kinds = {cell.name: cell.cell_type for cell in wanted.cells}
    sentences = []
    for name in [*points, *(name for name in graded if name not in points)]:
        exercise, worth = exercise_of(name), points.get(name, 0.0)
        full, was_full = exercise in wanted.full_marks, exercise in entered.full_marks
        cell, before = graded.get(name), None
        if cell is None:
            cell = GradeCell(name=name, max_score=worth, cell_type=kinds[name], notebook=notebook)
            gradebook.db.add(cell)
            gradebook.db.add_all(
                Grade(cell=cell, notebook=submitted, auto_score=None, needs_manual_grade=False)
                for submitted in list(notebook.submissions)
            )
        else:
            before = cell.max_score
            if before == worth and full == was_full:
                continue
        cell.max_score = worth
        sentences.append(_sentence(exercise, before, worth, full, was_full))
        for grade in cell.grades:
            student = grade.notebook.assignment.student_id
            own = by_hand.setdefault(student, {})
            text = _text(name, records.get(student))
            given = _given(grade, before, was_full, own.get(name), text)
            if given is None:
                own.pop(name, None)
            else:
                own[name] = given
            _rescore(grade, name, worth, full, given, before, records.get(student))
            if given and grade.manual_score is not None and given.text not in ("", text):
                grade.needs_manual_grade = True  # it was given for another text
            _renew_comment(grade, exercise)
    return sentences, {student: own for student, own in by_hand.items() if own}


def _change_texts(gradebook: Gradebook, notebook: Notebook, cells: Iterable[ReleasedCell]) -> None:
    """Source and solution cells as in the release; those that are gone stay."""
    sources = {cell.name: cell for cell in notebook.source_cells}
    solutions = {cell.name for cell in notebook.solution_cells}
    for cell in cells:
        if cell.solution and cell.name not in solutions:
            added = SolutionCell(name=cell.name, notebook=notebook)
            gradebook.db.add(added)
            submissions = list(notebook.submissions)
            gradebook.db.add_all(Comment(cell=added, notebook=one) for one in submissions)
        stored = sources.get(cell.name)
        if stored is None:
            stored = SourceCell(name=cell.name)
        stored.cell_type, stored.source = cell.cell_type, cell.source
        stored.locked, stored.checksum = cell.locked, cell.checksum
        if cell.name not in sources:
            notebook.source_cells.append(stored)


def _sentence(exercise: str, before: float | None, worth: float, full: bool, was_full: bool) -> str:
    if full and not was_full:
        return f"{exercise}: full marks for everybody who submitted ({number(worth)})."
    if before is None:
        return f"{exercise}: new, {number(worth)} points."
    if before != worth and not worth:
        return f"{exercise}: no longer counts (it was worth {number(before)} points)."
    if before != worth:
        return f"{exercise}: {number(before)} points become {number(worth)}."
    return f"{exercise}: no longer full marks for everybody."


def _text(name: str, record: SubmissionRecord | None) -> str:
    """The fingerprint of a written answer as it is now; empty if nothing is known."""
    written = record.written.get(name) if record else None
    return written.sha256 if written else ""


def _given(
    grade: Grade, before: float | None, was_full: bool, remembered: Given | None, text: str
) -> Given | None:
    """The mark as a person gave it, whatever the points have been changed to since."""
    if before is None or before == 0 or was_full:
        if grade.manual_score is None:
            return remembered  # the text may have changed since
        return Given(grade.manual_score, before or 0.0, text)
    if grade.manual_score is None:
        return None
    if remembered and abs(remembered.mark * before / remembered.most - grade.manual_score) < 1e-6:
        return remembered._replace(text=text)
    return Given(grade.manual_score, before, text)


def _rescore(
    grade: Grade,
    name: str,
    worth: float,
    full: bool,
    given: Given | None,
    before: float | None,
    record: SubmissionRecord | None,
) -> None:
    """The scores of one grade for the new points."""
    if full or not worth:
        grade.auto_score, grade.manual_score = worth, None
        grade.needs_manual_grade = False
        return
    waited = grade.needs_manual_grade
    share = _share(grade, name, before, record)
    grade.auto_score = None if share is None else round(share * worth, 6)
    grade.manual_score = None
    if given is not None and given.most:
        grade.manual_score = round(min(1.0, given.mark / given.most) * worth, 6)
    unread = grade.auto_score is None and grade.manual_score is None
    grade.needs_manual_grade = unread or (waited and grade.manual_score is not None)


def _renew_comment(grade: Grade, exercise: str) -> None:
    """The judge's comment begins with the points."""
    for comment in grade.notebook.comments:
        if comment.auto_comment and comment.cell.name == exercise and grade.auto_score is not None:
            points = f"{grade.auto_score:g} of {grade.cell.max_score:g} points."
            comment.auto_comment = POINTS.sub(points, comment.auto_comment, count=1)


def _share(
    grade: Grade, name: str, before: float | None, record: SubmissionRecord | None
) -> float | None:
    """The share of the points that the judge gave; None if a person has to read the answer."""
    if record is not None:
        if name in record.written:
            return None if record.written[name].answered else 0.0
        checked = record.exercise(exercise_of(name))
        if checked is not None and checked.max_points:
            return checked.points / checked.max_points
    if before and grade.auto_score is not None:
        return grade.auto_score / before
    # nothing is known: the exercise is new, and these students had no such cell
    return 0.0 if before is None or grade.auto_score is not None else None
