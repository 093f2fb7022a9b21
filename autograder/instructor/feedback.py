"""One page per student: points, what each check found, and what a person wrote."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from nbconvert.exporters import TemplateExporter
from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import GenerateFeedback
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.cell_names import exercise_of
from autograder.course_files import CourseError, write_for_people
from autograder.grading import archive
from autograder.grading.record import SubmissionRecord
from autograder.instructor import fragments
from autograder.instructor.course import Course, roster_of
from autograder.instructor.formgrader import is_given
from autograder.instructor.report import PAGES, style
from autograder.nbgrader_parts.configuration import alembic_on_path, for_course

# the address that course directories use: feedback.configure(c)
from autograder.nbgrader_parts.configuration import feedback_settings as configure  # noqa: F401
from autograder.nbgrader_parts.late import lateness
from autograder.nbgrader_parts.marks import is_extra, shown
from autograder.nbgrader_parts.times import timetable
from course_utils import register


class FeedbackSheet(NbGraderPreprocessor):
    """Runs after GetGrades and gathers what the page shows, so that the template only lays it out."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        about = resources["nbgrader"]
        place = (about["notebook"], about["assignment"], about["student"])
        with Gradebook(about["db_url"]) as gradebook:
            student = gradebook.find_student(about["student"])
            name = f"{student.first_name or ''} {student.last_name or ''}".strip()
            exercises = [
                item
                for index, cell in enumerate(nb.cells)
                if utils.is_grade(cell) and (item := _item(nb, index, gradebook, place))
            ]
            submission = gradebook.find_submission(about["assignment"], about["student"])
            late = lateness(submission, timetable(self._root()))
        record = archive.read_record(self._root(), about["assignment"], about["student"])
        extra = sum(e["most"] for e in exercises if e["extra"])
        complete = [e for e in exercises if not e["waiting"] and e["percent"] == 100]
        resources["feedback"] = {
            "title": _title(about["assignment"]),
            "name": name or about["student"],
            "score": shown(max(0.0, about["score"])),
            "max_score": shown(about["max_score"] - extra),
            "penalty": shown(about["late_penalty"]) if about["late_penalty"] else "",
            "late": late.sentence,
            "waiting": sum(e["waiting"] for e in exercises),
            "solved": len(complete),
            "exercises": exercises,
            "repairs": list(record.repairs) if record else [],
        }
        return nb, resources

    def _root(self) -> Path:
        converter = getattr(self.parent, "parent", None)
        coursedir = getattr(converter, "coursedir", None)
        return Path(coursedir.root) if coursedir is not None else Path.cwd()


class FeedbackPage(TemplateExporter):
    """A page made by our template alone, without what nbconvert adds to every HTML page."""

    file_extension = ".html"
    output_mimetype = "text/html"


def _item(nb: NotebookNode, index: int, gradebook: Gradebook, place: tuple[str, str, str]) -> dict:
    cell = nb.cells[index]
    marks = cell.metadata.nbgrader
    exercise = exercise_of(marks["grade_id"])
    written = utils.is_solution(cell)
    grade = gradebook.find_grade(marks["grade_id"], *place)
    share = max(0.0, min(1.0, (grade.score or 0.0) / grade.max_score)) if grade.max_score else 0.0
    untouched = written and marks.get("checksum") == utils.compute_checksum(cell)
    item = {
        "anchor": exercise,
        "title": _exercise_title(exercise),
        "written": written,
        "score": shown(grade.score or 0.0),
        "points": shown(grade.max_score),
        "most": grade.max_score,
        "extra": is_extra(marks["grade_id"]),
        "share": f"{share:.3f}",
        "percent": round(100 * share),
        "waiting": bool(grade.needs_manual_grade) and not untouched,
        "unanswered": untouched,
        "comment": _comment(exercise, gradebook, place),
    }
    if written:
        item["question"] = _question(nb, index)
        item["answer"] = fragments.written(cell.source, cell.get("attachments"))
    else:
        item["panel"] = _panel(cell)
        item["answer"] = _code(nb, exercise)
    return item


def _comment(exercise: str, gradebook: Gradebook, place: tuple[str, str, str]) -> str:
    """A person's comment. The grader's own words are in the panel already."""
    try:
        comment = gradebook.find_comment(exercise, *place)
    except MissingEntry:
        return ""
    return fragments.written(comment.manual_comment) if comment.manual_comment else ""


def _panel(cell: NotebookNode) -> str:
    """What the grader wrote into the check cell, the only HTML output that is let through.

    Before grading, these cells lose whatever the student saved in them.
    """
    for output in cell.outputs:
        if output.output_type == "display_data" and "text/html" in output.data:
            return "".join(output.data["text/html"])
    text = "".join("".join(o.text) for o in cell.outputs if o.output_type == "stream")
    return f"<pre>{html.escape(text)}</pre>" if text else ""


def _code(nb: NotebookNode, exercise: str) -> str:
    for cell in nb.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("grade_id") == exercise and cell.cell_type == "code":
            return fragments.code(cell.source)
    return ""


def _question(nb: NotebookNode, index: int) -> str:
    """The given text before a written answer."""
    above = nb.cells[index - 1] if index else None
    if above is None or above.cell_type != "markdown" or utils.is_solution(above):
        return ""
    lines = [line for line in above.source.split("\n") if not line.startswith(("#", "difficulty "))]
    text = "\n".join(lines).strip()
    if is_given(above):
        return fragments.given(text)
    return fragments.written(text, above.get("attachments"))


def _title(assignment: str) -> str:
    try:
        return f"{assignment[:2]} · {register.notebook(assignment).title}"
    except KeyError:
        return assignment


def _exercise_title(exercise: str) -> str:
    try:
        title = register.exercise(exercise).title
    except KeyError:
        title = exercise
    return title[:1].upper() + title[1:] if " " in title else title


def write_feedback(course: Course, assignment: str, students: Sequence[str] = ()) -> list[Path]:
    """Write feedback/STUDENT/ASSIGNMENT/ASSIGNMENT.html for everybody who handed in, or for some.

    A student whose file could not be graded gets a page that explains what to do.
    """
    records = {r.student: r for r in archive.records(course.root, assignment)}
    unread = [r for r in records.values() if not r.graded and r.student in (students or records)]
    graded = [s for s in students if s not in {r.student for r in unread}]
    for student in graded:
        if not course.folder("autograded", student, assignment).is_dir():
            raise CourseError(
                f"{student} has no graded submission of {assignment}; grade it first."
            )
    before = {path: path.stat().st_mtime_ns for path in _pages(course, assignment)}
    alembic_on_path()
    anybody = any((course.root / "autograded").glob(f"*/{assignment}"))
    for student in graded or ["*"] * (not students and anybody):
        _convert(course, assignment, student)
    for record in unread:
        write_for_people(page_of(course, record.student, assignment), _not_graded(course, record))
    return [
        path for path in _pages(course, assignment) if before.get(path) != path.stat().st_mtime_ns
    ]


def pages_of(course: Course, assignment: str) -> dict[str, Path]:
    """The pages written so far, by student."""
    return {path.parts[-3]: path for path in _pages(course, assignment)}


def page_of(course: Course, student: str, assignment: str) -> Path:
    folder = course.folder("feedback", archive.folder_name(student), assignment)
    return folder / f"{assignment}.html"


def _convert(course: Course, assignment: str, student: str) -> None:
    """Let nbgrader write the pages of one student, or of all ("*")."""
    config = for_course(course.root, assignment, course.db_url, student)
    config.GenerateFeedback.force = True
    converter = GenerateFeedback(coursedir=CourseDirectory(config=config), config=config)
    converter.log.setLevel("ERROR")
    try:
        converter.start()
    except (NbGraderException, SystemExit, OSError) as problem:
        raise CourseError(
            f"nbgrader could not write all feedback for {assignment}: {problem}. Its own messages "
            "are above. The other pages were written."
        ) from None


def _not_graded(course: Course, record: SubmissionRecord) -> str:
    """The page of a student whose file could not be graded.

    It shows no flags: those are for the instructor, and may name other students.
    """
    person = roster_of(course).get(record.student)
    return (
        Environment(loader=FileSystemLoader(PAGES), autoescape=True, trim_blocks=True)
        .get_template("not_graded.html.j2")
        .render(
            style=style(),
            title=_title(record.assignment),
            name=person.full_name if person else record.student,
            notebook=f"{record.assignment}.ipynb",
            file=record.source_name.rpartition("/")[2],
            when=f"{record.timestamp:%-d %B %Y at %H:%M}" if record.timestamp else "",
            ours=any(flag.source == "grader" for flag in record.flags),
        )
    )


def _pages(course: Course, assignment: str) -> list[Path]:
    return sorted((course.root / "feedback").glob(f"*/{assignment}/*.html"))
