"""All settings of nbgrader that the course changes, and the file in which a course sets its own.

The only place that writes nbgrader's configuration. An instructor's own nbgrader_config.py always
has the last word: `for_course` starts with our settings and puts the course's own on top.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder import choices
from autograder.course_files import CourseError
from course_utils.submission import ANSWER_STUB

FILE = "nbgrader_config.py"
PAGES = Path(__file__).parent.parent / "instructor" / "pages"
PARTS = "autograder.nbgrader_parts"
FILTERS = "autograder.instructor.formgrader"
MATHJAX = (
    "https://cdnjs.cloudflare.com/ajax/libs/mathjax/2.7.7/latest.js?config=TeX-AMS_CHTML-full,Safe"
)
NEW_FILE = """# Our steps in nbgrader's pipeline. Your own settings go below: c.ClassName.name = value
from autograder.nbgrader_config import configure

c = get_config()
configure(c)
"""
LATE_PLUGIN = "autograder.instructor.late.LateDays"


_reading: list[Path] = []  # the course directory of the file that is being read


def configure(c: Config) -> None:
    """Put our steps into nbgrader's pipeline and leave everything else alone.

    Called from a course's own file, it also takes the late rule of the course.toml beside it.
    """
    late_settings(c, _reading[-1] if _reading else Path.cwd())
    release_settings(c)
    grading_settings(c)
    feedback_settings(c)
    formgrader_settings(c)


def late_settings(c: Config, course: Path) -> None:
    """The rule for late days in course.toml."""
    rule = choices.read(course).late
    if rule is not None:
        c.AssignLatePenalties.plugin_class = LATE_PLUGIN
        c.LateDays.share_a_day, c.LateDays.free_days = rule.share_a_day, rule.free_days


def release_settings(c: Config) -> None:
    """nbgrader's own steps, except that we clear typed answers differently."""
    c.ClearSolutions.text_stub = ANSWER_STUB
    c.ClearSolutions.code_stub = {"python": "raise NotImplementedError()  # your code here"}
    c.ClearMarkScheme.enforce_metadata = False
    c.GenerateAssignment.preprocessors = [
        "nbgrader.preprocessors.IncludeHeaderFooter",
        "nbgrader.preprocessors.InstantiateTests",
        "nbgrader.preprocessors.LockCells",
        f"{PARTS}.clear_answers.ClearAnswers",
        "nbgrader.preprocessors.ClearOutput",
        "nbgrader.preprocessors.CheckCellMetadata",
        "nbgrader.preprocessors.ComputeChecksums",
        f"{PARTS}.collect_cells.CollectCells",
        "nbgrader.preprocessors.SaveCells",
        "nbgrader.preprocessors.ClearHiddenTests",
        "nbgrader.preprocessors.ClearMarkScheme",
        "nbgrader.preprocessors.ComputeChecksums",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]


def grading_settings(c: Config) -> None:
    """Answers run in the box, saved outputs stay, and the verdict becomes the comment."""
    c.Autograde.pre_convert_hook = f"{PARTS}.steps.leave_out_unreadable"
    c.Autograde.sanitize_preprocessors = [
        f"{PARTS}.steps.KeepStudentsOutputs",
        "nbgrader.preprocessors.DeduplicateIds",
        "nbgrader.preprocessors.OverwriteKernelspec",
        f"{PARTS}.steps.OverwriteCells",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    c.Autograde.autograde_preprocessors = [
        f"{PARTS}.steps.Execute",
        "nbgrader.preprocessors.IgnorePattern",
        "nbgrader.preprocessors.LimitOutput",
        "nbgrader.preprocessors.SaveAutoGrades",
        f"{PARTS}.steps.WriteComments",
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]


def feedback_settings(c: Config) -> None:
    """Our page in nbgrader's own generate_feedback, without hidden tests and rubrics.

    In a course's own file it makes formgrader's button write the same pages.
    """
    c.GenerateFeedback.preprocessors = [
        "nbgrader.preprocessors.ClearHiddenTests",
        "nbgrader.preprocessors.ClearMarkScheme",
        "nbgrader.preprocessors.GetGrades",
        "autograder.instructor.feedback.FeedbackSheet",
    ]
    c.ClearMarkScheme.enforce_metadata = False
    c.ClearHiddenTests.enforce_metadata = False
    # a class that nbgrader does not use: formgrader's own pages keep nbgrader's template
    c.GenerateFeedback.exporter_class = "autograder.instructor.feedback.FeedbackPage"
    c.FeedbackPage.template_name = "feedback"
    c.FeedbackPage.extra_template_basedirs = [str(PAGES)]


def formgrader_settings(c: Config) -> None:
    """Students' texts are sanitised; with nbconvert's own filters a script in them would run.

    The page has Jupyter's origin, so a script there could do all that the instructor can.
    """
    names = ("markdown2html", "highlight_code", "clean_html")
    c.HTMLExporter.filters = {name: f"{FILTERS}.{name}" for name in names}
    # MathJax reads the instructor's text; this build of it refuses scripts in formulas besides.
    c.HTMLExporter.mathjax_url = MATHJAX


def own_settings(course: Path) -> Config:
    """The settings in the course's own file."""
    path = course / FILE
    found = Config()
    late_settings(found, course)
    if not path.is_file():
        return found
    _reading.append(course)
    try:
        found.merge(PyFileConfigLoader(path.name, path=str(course)).load_config())
    except Exception as problem:
        raise CourseError(f"{path} cannot be read: {problem}") from problem
    finally:
        _reading.pop()
    _refuse_two_late_rules(course, found)
    return found


def _refuse_two_late_rules(course: Path, found: Config) -> None:
    """Refuse a late rule in each of two files: one of them would silently do nothing."""
    rule = choices.read(course).late
    if rule is None:
        return
    own = found.LateDays
    same = (own.get("share_a_day"), own.get("free_days")) == (rule.share_a_day, rule.free_days)
    if found.AssignLatePenalties.get("plugin_class") != LATE_PLUGIN or not same:
        raise CourseError(
            f"{choices.FILE} and {FILE} both set the cost of late days, but differently. Remove it "
            f"from one of them, in {course}."
        )


def for_course(course: Path, assignment: str, db_url: str = "", student: str = "*") -> Config:
    """The settings with which one of nbgrader's converters runs on an assignment of a course."""
    config = Config()
    configure(config)
    config.merge(own_settings(course))
    config.CourseDirectory.root = str(course.resolve())
    config.CourseDirectory.assignment_id = assignment
    config.CourseDirectory.student_id = student
    if db_url:
        config.CourseDirectory.db_url = db_url
    return config


def write_new_file(course: Path) -> None:
    """Write a course directory's file, unless it has one."""
    path = course / FILE
    if not path.exists():
        path.write_text(NEW_FILE, encoding="utf-8")


def alembic_on_path() -> None:
    """nbgrader calls `alembic` by its name when it makes a gradebook."""
    here = str(Path(sys.executable).parent)
    if here not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = here + os.pathsep + os.environ.get("PATH", "")
