"""What nbgrader reads and people see in a check cell after grading, and the comment beside it."""

from __future__ import annotations

from nbformat import NotebookNode

from autograder.grading.answers import CHECK
from autograder.grading.grade import Answered, Grades
from autograder.intake.harmless import harmless_markdown
from course_utils.checks import panel

COMMENT_CHARACTERS = 2000


# nbformat's new_output looks every single output up in the schema, which takes longer than all
# else that is done to a graded notebook


def printed(text: str) -> NotebookNode:
    return NotebookNode(output_type="stream", name="stdout", text=text)


def displayed(kind: str, data: dict[str, str], **more) -> NotebookNode:
    return NotebookNode(output_type=kind, metadata={}, data=data, **more)


def result_of(text: str) -> NotebookNode:
    """What nbgrader reads as the points of a cell."""
    return displayed("execute_result", {"text/plain": text}, execution_count=1)


def points_shown(points: float, cell: NotebookNode) -> str:
    """The number that nbgrader takes as the score: never above what the cell is worth."""
    return f"{min(points, float(cell.metadata.nbgrader['points'])):.10g}"


def verdict_outputs(answer: Answered, cell: NotebookNode) -> list[NotebookNode]:
    """A line, the panel, last the points; never stderr, which nbgrader takes for an error."""
    shown = panel.text(answer.verdict)
    return [
        printed(shown.split("\n")[0] + "\n"),
        displayed("display_data", {"text/html": panel.html(answer.verdict), "text/plain": shown}),
        result_of(points_shown(answer.verdict.points, cell)),
    ]


def unjudged_outputs() -> list[NotebookNode]:
    """Without any output nbgrader would give all points: say no points instead."""
    said = "The judge knows no exercise of this name, so this cell gives no points by itself.\n"
    return [printed(said), result_of("0")]


def write_verdicts(notebook: NotebookNode, grades: Grades) -> None:
    """Put every verdict into its check cell."""
    by_exercise = {answer.verdict.exercise: answer for answer in grades.answers}
    for cell in notebook.cells:
        own = cell.metadata.get("nbgrader", {})
        if cell.cell_type != "code" or not own.get("grade") or own.get("solution"):
            continue
        answer = by_exercise.get(own.get("grade_id", "").removesuffix(CHECK))
        cell.outputs = unjudged_outputs() if answer is None else verdict_outputs(answer, cell)
        cell.execution_count = 1


def comment_on(answer: Answered) -> str:
    """A few lines for the student, as markdown without anything that a browser would run."""
    verdict = answer.verdict
    lines = [f"{verdict.points:g} of {verdict.max_points:g} points."]
    if answer.message:
        lines.append(answer.message)
    elif not verdict.passed:
        if verdict.sentence:
            lines.append(verdict.sentence)
        said = dict.fromkeys(f.message.split("\n")[0] for f in verdict.findings if not f.passed)
        lines += [f"- {message}" for message in said if message]
        hint = verdict.hint or next((f.hint for f in verdict.findings if f.hint), "")
        if hint:
            lines.append(f"\nHint: {hint}")
    return harmless_markdown("\n".join(lines)[:COMMENT_CHARACTERS])
