"""Our three steps in nbgrader's own pipeline, so that `nbgrader autograde` grades as we do."""

from __future__ import annotations

import atexit
from pathlib import Path

from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool

from autograder.box import Box
from autograder.grading import clean, record
from autograder.grading.answers import checked_exercises
from autograder.grading.grade import Grades, Task, as_records, draw_seeds, grade, written_answers
from autograder.grading.outputs import comment_on, write_verdicts
from autograder.grading.releases import read_release

GRADES = "autograder_grades"


class KeepStudentsOutputs(NbGraderPreprocessor):
    """In the place of nbgrader's ClearOutput: saved plots and logs stay, made harmless."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        trusted = clean.texts_of(read_release(resources["nbgrader"]["notebook"]))
        return clean.clean_notebook(nb, trusted), resources


class Execute(NbGraderPreprocessor):
    """In the place of nbgrader's Execute: the answers run in the box, the judge decides outside."""

    unsafe = Bool(False, help="Run submissions without isolation; only for ones you trust.").tag(
        config=True
    )
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
        about = resources["nbgrader"]
        exercises = checked_exercises(nb)
        for exercise, seeds in draw_seeds([e for e in exercises if e not in self._seeds]).items():
            self._seeds[exercise] = seeds
        seeds = {exercise: self._seeds[exercise] for exercise in exercises}
        task = Task(about["student"], about["assignment"], record.notebook_bytes(nb), seeds)
        grades = grade(task, self.box())
        write_verdicts(nb, grades)
        resources[GRADES] = (grades, seeds)
        return nb, resources


class WriteComments(NbGraderPreprocessor):
    """After nbgrader's SaveAutoGrades: the verdict in words, and finished answers stay finished."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        about = resources["nbgrader"]
        grades, seeds = resources[GRADES]
        with Gradebook(about["db_url"]) as gradebook:
            for answer in grades.answers:
                try:
                    comment = gradebook.find_comment(
                        answer.verdict.exercise,
                        about["notebook"],
                        about["assignment"],
                        about["student"],
                    )
                except MissingEntry:
                    continue
                comment.auto_comment = comment_on(answer)
            submission = gradebook.find_submission_notebook(
                about["notebook"], about["assignment"], about["student"]
            )
            course = self.course_root()
            before = record.read_json(
                record.verdict_path(course, about["assignment"], about["student"])
            )
            written = written_answers(nb)
            for stored in submission.grades:
                settle_review(stored, stored.cell.name, before, written)
            gradebook.db.commit()
        self.write_record(course, about, grades, seeds, before, written)
        return nb, resources

    def course_root(self) -> Path:
        """nbgrader changes into the course directory while it converts."""
        converter = getattr(self.parent, "parent", None)
        coursedir = getattr(converter, "coursedir", None)
        return Path(coursedir.root) if coursedir is not None else Path.cwd()

    def write_record(
        self,
        course: Path,
        about: dict,
        grades: Grades,
        seeds: dict,
        before: dict | None,
        written: dict,
    ) -> None:
        """The same record that `autograder grade` leaves; what intake said is kept."""
        content = {
            **(before or {"format": record.FORMAT, "repairs": [], "flags": [], "timestamp": None}),
            "run": f"nbgrader-autograde-{record.now()}",
            "student": about["student"],
            "assignment": about["assignment"],
            "status": "graded",
            "points": grades.points,
            "max_points": grades.max_points,
            "seconds": grades.seconds,
            "exercises": as_records(grades, seeds),
            "written": written,
            "printed": grades.printed,
        }
        content.setdefault("source_name", f"{about['notebook']}.ipynb")
        content.setdefault("sha256", "")
        record.write_json(
            record.verdict_path(course, about["assignment"], about["student"]), content
        )


def settle_review(grade, name: str, before: dict | None, written: dict[str, dict]) -> None:
    """Whether a person must look (again) at the grade of the cell called `name`.

    nbgrader puts every answer with a manual score back on the pile at each regrade. A score that
    a person gave stands as long as what it was given for is the same: the text of a written
    answer, or the points of a checked one.
    """
    grade.needs_manual_grade = grade.auto_score is None and grade.manual_score is None
    if grade.manual_score is None:
        return
    if name in written:
        earlier = (before or {}).get("written", {}).get(name, {})
        grade.needs_manual_grade = earlier.get("sha256") != written[name]["sha256"]
    else:
        exercise = name.removesuffix("-check")
        earlier = [
            e["points"] for e in (before or {}).get("exercises", []) if e["exercise"] == exercise
        ]
        grade.needs_manual_grade = not earlier or earlier[0] != grade.auto_score
