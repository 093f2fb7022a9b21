"""Our steps in nbgrader's own pipeline, so that `nbgrader autograde` gives the same grades.

nbgrader reads a student's file in its own process, where nothing stops it. So a worker that can be
killed reads the file first, and what it does not finish never reaches nbgrader.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader import preprocessors as nbgraders_own
from nbgrader.api import Gradebook, MissingEntry, SubmittedNotebook
from nbgrader.preprocessors import NbGraderPreprocessor
from sqlalchemy.orm.attributes import set_committed_value
from traitlets import Bool

from autograder import choices
from autograder.box import Box
from autograder.cell_names import exercise_of
from autograder.grading import archive, clean
from autograder.grading.archive import notebook_bytes
from autograder.grading.grade import draw_seeds, written_answers
from autograder.grading.reading import NotRead, Readers
from autograder.grading.record import SubmissionRecord, fingerprint, fingerprint_of_files, now
from autograder.grading.releases import release_names, release_of
from autograder.grading.student import Finished, Setting, Stored
from autograder.grading.verdict import with_exercises
from autograder.grading.what_to_run import checked_exercises
from autograder.intake.submission import Sender
from autograder.nbgrader_parts.gradebook import count, settle_review
from course_utils import register

GRADES = "autograder_grades"
_readers: list[Readers] = []


def readers() -> Readers:
    """One warm process for the whole command; it forks the workers that read and judge."""
    if not _readers:
        _readers.append(Readers())
        _readers[0].start()
        atexit.register(_readers[0].close)
    return _readers[0]


def leave_out_unreadable(assignment: str, student: str, notebooks: list[str]) -> None:
    """nbgrader's `pre_convert_hook`: drop the files that can't be read within the limits.

    nbgrader then reports the submission as failed and goes on with the next one.
    """
    for path in list(notebooks):
        try:
            readers().try_reading(Path(path).read_bytes())
        except (NotRead, OSError) as problem:
            notebooks.remove(path)
            logging.getLogger("traitlets").error("%s is left out: %s", path, problem)


class KeepStudentsOutputs(NbGraderPreprocessor):
    """Replaces nbgrader's ClearOutput: saved plots and logs stay, but are made harmless."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        release = released(self, resources["nbgrader"]["notebook"])
        return clean.clean_notebook(nb, clean.texts_of(release)), resources


class OverwriteCells(nbgraders_own.OverwriteCells):
    """nbgrader's step, except for exercises that do not count, which are worth 0 in the gradebook.

    They are judged by their own points, so that they can count again. A 0 in the notebook would
    also change the checksum, and nbgrader would refuse every submission.
    """

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        release = released(self, resources["nbgrader"]["notebook"])
        marked = [cell.metadata.get("nbgrader", {}) for cell in release.cells] if release else []
        self.worth = {own["grade_id"]: float(own["points"]) for own in marked if own.get("grade")}
        return super().preprocess(nb, resources)

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict, index: int
    ) -> tuple[NotebookNode, dict]:
        own = cell.metadata.get("nbgrader", {})
        if own.get("grade") and self.worth.get(own.get("grade_id")):
            place = (own["grade_id"], self.notebook_id, self.assignment_id)
            with contextlib.suppress(MissingEntry):
                stored = self.gradebook.find_graded_cell(*place)
                if not stored.max_score:  # for this step only: none of it reaches the database
                    set_committed_value(stored, "max_score", self.worth[own["grade_id"]])
        return super().preprocess_cell(cell, resources, index)


class Execute(NbGraderPreprocessor):
    """Replaces nbgrader's Execute: answers run in the box, and the judge decides outside."""

    unsafe = Bool(
        False, help="Run submissions without isolation; only for code that you trust."
    ).tag(config=True)
    _boxes: dict[bool, Box] = {}
    _seeds: dict[str, tuple[int, ...]] = {}

    def box(self) -> Box:
        """One warm box for the whole command."""
        if self.unsafe not in self._boxes:
            box = Box(workers=1, unsafe=self.unsafe)
            box.start()
            atexit.register(box.close)
            self._boxes[self.unsafe] = box
        return self._boxes[self.unsafe]

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        choices.use(course_root(self))
        exercises = checked_exercises(nb)
        self._seeds.update(draw_seeds(e for e in exercises if e not in self._seeds))
        seeds = {exercise: self._seeds[exercise] for exercise in exercises}
        about = resources["nbgrader"]
        setting = Setting("", about["assignment"], seeds, {}, register=register.used())
        content = notebook_bytes(nb)
        record = SubmissionRecord("", about["student"], about["assignment"], about["notebook"])
        judged = readers().judge_again(Stored(record, content, content), setting, self.box())
        resources[GRADES] = judged
        assert judged.autograded is not None
        return nbformat.reads(judged.autograded.decode(), as_version=4), resources


class WriteComments(NbGraderPreprocessor):
    """Runs after nbgrader's SaveAutoGrades: stores the verdict in words, and keeps marked answers marked."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        about, judged = resources["nbgrader"], resources[GRADES]
        place = (about["notebook"], about["assignment"], about["student"])
        course, written = course_root(self), written_answers(nb)
        rules = choices.read(course)
        before = archive.read_record(course, about["assignment"], about["student"])
        with Gradebook(about["db_url"]) as gradebook:
            self.write_comments(gradebook, place, judged)
            stored = gradebook.find_submission_notebook(*place)
            for entry in stored.grades:
                settle_review(entry, entry.cell.name, before, written)
                full = exercise_of(entry.cell.name) in rules.full_marks
                count(entry, entry.cell.max_score, full)
            gradebook.db.commit()
            record = before or self.new_record(course, about, stored)
        # all exercises were judged again, so nothing remains of an earlier verdict
        record = replace(
            record,
            exercises=(),
            flags=tuple(flag for flag in record.flags if flag.source == "intake"),
        )
        run = f"nbgrader-autograde-{now()}"
        new = judged.record
        record = with_exercises(record, new.exercises, run, written, new.printed, new.seconds)
        archive.write_record(course, record)
        return nb, resources

    def write_comments(
        self, gradebook: Gradebook, place: tuple[str, str, str], judged: Finished
    ) -> None:
        for exercise, said in judged.comments.items():
            try:
                comment = gradebook.find_comment(exercise, *place)
            except MissingEntry:
                continue
            comment.auto_comment = said

    def new_record(self, course: Path, about: dict, stored: SubmittedNotebook) -> SubmissionRecord:
        """The record of a file that never went through intake, as intake would have written it."""
        name = f"{about['student']}/{about['assignment']}/{about['notebook']}.ipynb"
        path = course / "submitted" / name
        content = path.read_bytes() if path.is_file() else b""
        when = stored.assignment.timestamp
        return SubmissionRecord(
            "",
            about["student"],
            about["assignment"],
            name,
            when.replace(tzinfo=UTC) if when else None,
            fingerprint(content),
            fingerprint_of_files([(name, content)]),
            sender=Sender(name=about["student"]),
        )


def released(step: NbGraderPreprocessor, name: str) -> NotebookNode | None:
    """The notebook that this course gave to its students; None if it is not one of ours."""
    if name not in release_names():
        return None
    return nbformat.reads(release_of(course_root(step), name), as_version=4)


def course_root(step: NbGraderPreprocessor) -> Path:
    """The course directory; nbgrader changes into it while it converts."""
    converter = getattr(step.parent, "parent", None)
    coursedir = getattr(converter, "coursedir", None)
    return Path(coursedir.root) if coursedir is not None else Path.cwd()
