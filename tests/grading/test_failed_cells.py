"""An answer cell that fails before it defines its name: what student and instructor read."""

import html
import re

import pytest
from click.testing import CliRunner

from autograder.box import Outcome
from autograder.cli import main
from autograder.grading import archive
from autograder.grading.releases import release_notebook
from autograder.grading.verdict import judge_outcome
from autograder.instructor.course import open_course
from autograder.instructor.feedback import write_feedback
from autograder.whole_class.grade_class import Options, grade_class
from course_utils.checks import judge, wire
from tests.grading.handing_in import ASSIGNMENT, EXERCISE, RIGHT, cell_of, hand_in, submission

WRITTEN = RIGHT.strip()
SYNTAX = WRITTEN.replace("hidden_size):", "hidden_size:", 1)
PACKAGE = f"from einops_of_nobody import rearrange\n{RIGHT}"
NAME = WRITTEN.replace("nn.Module", "Modul")
LATER = RIGHT.replace("weights = (", "import einops_of_nobody\n        weights = (", 1)
STUB = cell_of(release_notebook(ASSIGNMENT), EXERCISE).source
ANSWERS = {
    "ann": SYNTAX,
    "bob": PACKAGE,
    "cem": NAME,
    "dan": "raise NotImplementedError()",
    "eve": STUB,
    "fay": f"{RIGHT}\n1 / 0",
    "gus": LATER,
}
SAID = {
    "ann": ("SyntaxError: '(' was never closed", "line 2: def __init__(self, hidden_size:"),
    "bob": (
        "ModuleNotFoundError: No module named 'einops_of_nobody'",
        "line 1: from einops_of_nobody import rearrange",
    ),
    "cem": ("NameError: name 'Modul' is not defined", "line 1: class DotProdAttention(Modul):"),
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A course directory with a class of such answers, and its records by student."""
    folder = tmp_path_factory.mktemp("class")
    for student, answer in ANSWERS.items():
        hand_in(folder / "handed_in", student, submission(answer))
    grade_class(Options(ASSIGNMENT, (folder / "handed_in",), folder / "course"))
    records = archive.records(folder / "course", ASSIGNMENT)
    return folder / "course", {entry.student: entry for entry in records}


@pytest.mark.box
@pytest.mark.parametrize("student", SAID)
def test_the_record_has_the_error_and_its_line(graded, student):
    entry = graded[1][student].exercise(EXERCISE)
    first, line = SAID[student]
    assert entry.points == 0
    for said in (entry.findings[0].message, entry.message):
        assert first in said and line in said
        assert "not defined yet" not in said


@pytest.mark.box
@pytest.mark.parametrize("student", SAID)
def test_the_feedback_page_has_the_error_and_its_line(graded, student):
    (page,) = write_feedback(open_course(graded[0]), ASSIGNMENT, [student])
    words = html.unescape(re.sub(r"<[^>]*>", "", page.read_text(encoding="utf-8")))
    assert all(said in words for said in SAID[student])


@pytest.mark.box
def test_the_report_has_the_errors(graded):
    course, _ = graded
    done = CliRunner().invoke(main, ["report", ASSIGNMENT, "--course", str(course)])
    assert done.exit_code == 0, done.output
    page = html.unescape((course / "reports" / f"{ASSIGNMENT}.html").read_text(encoding="utf-8"))
    for said in SAID.values():
        assert all(part in page for part in said)


@pytest.mark.box
def test_only_a_missing_package_is_flagged_and_by_its_name(graded):
    flags = {student: entry.flags for student, entry in graded[1].items()}
    assert {student for student in flags if flags[student]} == {"bob", "gus"}
    for student in ("bob", "gus"):
        (flag,) = flags[student]
        assert (flag.source, flag.exercise) == ("box", EXERCISE)
        assert "`einops_of_nobody`" in flag.text and "\n" not in flag.text


@pytest.mark.box
def test_an_answer_that_nobody_wrote_keeps_its_friendly_words(graded):
    said = graded[1]["dan"].exercise(EXERCISE).findings[0].message
    assert said == "`DotProdAttention` is not defined yet: write it, run its cell, and check again."
    assert graded[1]["eve"].exercise(EXERCISE).findings[0].message == "It is not implemented yet."


@pytest.mark.box
def test_an_error_after_the_answer_was_defined_costs_nothing(graded):
    entry = graded[1]["fay"].exercise(EXERCISE)
    assert entry.passed and entry.box == "ok"


@pytest.mark.box
def test_check_shows_the_error_of_a_file(tmp_path):
    (tmp_path / "answer.py").write_text(SYNTAX)
    done = CliRunner().invoke(main, ["check", EXERCISE, str(tmp_path / "answer.py")])
    assert all(said in done.output for said in SAID["ann"]), done.output


def frame_of(plan: judge.Plan, reply: wire.Reply) -> Outcome:
    frame = wire.pack_response({plan.exercise: [reply] * len(plan.flat)})
    return Outcome("ok", frame, "", "")


def test_texts_that_leave_the_box_are_cleaned_and_cut():
    plan = judge.make_plan(EXERCISE)
    text = "\x1b[31mred \ud800" + "x" * 10_000
    outcome = frame_of(plan, wire.Reply("missing", {}, {"cell": text, "package": text}, text))
    judged = judge_outcome(plan, outcome)
    for said in (judged.message, *(f.message for f in judged.verdict.findings)):
        assert "\x1b" not in said and len(said) < 5000
        said.encode()
    assert judged.box == "package"


def test_a_note_on_a_package_takes_no_points():
    plan = judge.make_plan(EXERCISE)
    judged = judge_outcome(plan, frame_of(plan, wire.Reply("ok", {}, {"package": "\n"}, "")))
    assert judged.box == "ok" and judged.verdict.points == 0
