"""Mark schemes: each line has its points, and together they are those of the exercise."""

import pytest

from autograder import build, rubric
from autograder.cell_names import rubric_cell
from course_utils import register

CELL = """*This answer is read and marked by a person (2 points).*

<!-- BEGIN MARK SCHEME -->

**Rubric**

- half a point: the weights sum to one,
  over the source;
- 1 point: why;
- a quarter of a point: an example
- 0.25: its number.

No points are lost for notation.

**Model answer**

Because $a - b$:
- not a line: at all.

<!-- END MARK SCHEME -->"""


def test_a_scheme_has_lines_notes_and_a_model_answer():
    scheme = rubric.mark_scheme(CELL)
    assert [line.points for line in scheme.lines] == [0.5, 1.0, 0.25, 0.25]
    assert scheme.lines[0].text == "the weights sum to one, over the source"
    assert scheme.notes == "No points are lost for notation."
    assert scheme.model.startswith("Because") and scheme.model.endswith("at all.")


def test_a_class_that_changed_the_points_gets_lines_that_add_up():
    scheme = rubric.mark_scheme(CELL)
    assert [line.points for line in scheme.worth(4).lines] == [1.0, 2.0, 0.5, 0.5]
    assert scheme.worth(2) is scheme


@pytest.mark.parametrize("text", ["", "Half a point: prose.", "- something good"])
def test_text_without_points_gives_no_line(text):
    assert rubric.read_lines(text) == ()


WRITTEN = [e for e in register.exercises() if not e.checked and not getattr(e, "retired", False)]


@pytest.mark.parametrize("exercise", WRITTEN, ids=lambda e: e.id)
def test_the_lines_of_every_mark_scheme_give_the_points_of_the_exercise(exercise):
    cells = build.read_source(build.SOURCES / f"{exercise.notebook}.py").cells
    by_name = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell.source for cell in cells}
    scheme = rubric.mark_scheme(by_name[rubric_cell(exercise.id)])
    assert sum(line.points for line in scheme.lines) == exercise.points
    assert scheme.model


def test_a_rubric_without_points_is_refused_with_a_sentence():
    exercise = WRITTEN[0]
    text = "### BEGIN SOLUTION\nYes.\n### END SOLUTION\n=== BEGIN MARK SCHEME ===\n{}\n=== END MARK SCHEME ===\n"
    cell = build.new_markdown_cell(text.format("Half a point: prose."))
    with pytest.raises(build.BuildError, match="no line of the rubric has points"):
        build._rubric_cell("01, cell x", cell, exercise)
    cell = build.new_markdown_cell(text.format("- half a point: it says yes"))
    assert "it says yes" in build._rubric_cell("01, cell x", cell, exercise).source
