"""The outputs of a check cell after grading, for nbgrader and for people, and its comment."""

from __future__ import annotations

from nbformat import NotebookNode

from autograder.cell_names import exercise_of
from autograder.grading.verdict import Grades, Judged
from autograder.intake.text import clean_cell_text
from course_utils.checks import panel

COMMENT_CHARACTERS = 2000


# nbformat's new_output validates every single output against the schema, which takes longer than
# everything else that is done to a graded notebook


def printed(text: str) -> NotebookNode:
    return NotebookNode(output_type="stream", name="stdout", text=text)


def displayed(kind: str, data: dict[str, str], **more) -> NotebookNode:
    return NotebookNode(output_type=kind, metadata={}, data=data, **more)


def result_of(text: str) -> NotebookNode:
    """The output that nbgrader reads as the points of a cell."""
    return displayed("execute_result", {"text/plain": text}, execution_count=1)


def verdict_outputs(answer: Judged, cell: NotebookNode) -> list[NotebookNode]:
    """A line, the panel, and the points last; never stderr, which nbgrader takes for an error."""
    shown, worth = panel.text(answer.verdict), float(cell.metadata.nbgrader["points"])
    return [
        printed(shown.split("\n")[0] + "\n"),
        displayed("display_data", {"text/html": panel.html(answer.verdict), "text/plain": shown}),
        result_of(
            f"{min(answer.verdict.points, worth):.10g}"
        ),  # never above what the cell is worth
    ]


def unjudged_outputs() -> list[NotebookNode]:
    """Outputs that give no points: without any output, nbgrader would give full points."""
    said = "The judge has no exercise with this name, so this cell gives no points.\n"
    return [printed(said), result_of("0")]


def checked_exercise(cell: NotebookNode) -> str | None:
    """The exercise that a cell checks; None for every other cell."""
    own = cell.metadata.get("nbgrader", {})
    if cell.cell_type != "code" or not own.get("grade") or own.get("solution"):
        return None
    return exercise_of(own.get("grade_id", ""))


def write_verdicts(notebook: NotebookNode, grades: Grades, all_exercises: bool = True) -> None:
    """Put every verdict into its check cell; the cells of other exercises give no points.

    After only some exercises were judged again, the cells of the others stay as they are.
    """
    by_exercise = {answer.exercise: answer for answer in grades.answers}
    for cell in notebook.cells:
        exercise = checked_exercise(cell)
        if exercise is None or not (all_exercises or exercise in by_exercise):
            continue
        answer = by_exercise.get(exercise)
        cell.outputs = unjudged_outputs() if answer is None else verdict_outputs(answer, cell)
        cell.execution_count = 1


def scores(notebook: NotebookNode) -> dict[str, float | None]:
    """The automatic score of every graded cell; None if a person has to read the answer."""
    from nbgrader.utils import determine_grade, is_grade

    return {
        cell.metadata.nbgrader["grade_id"]: determine_grade(cell)[0]
        for cell in notebook.cells
        if is_grade(cell)
    }


def comment_on(answer: Judged) -> str:
    """A few lines for the student, as markdown without anything that a browser would run."""
    verdict = answer.verdict
    lines = [f"{verdict.points:g} of {verdict.max_points:g} points."]
    if answer.message:
        lines.append(answer.message)
    elif not verdict.passed:
        if verdict.sentence:
            lines.append(verdict.sentence)
        stopped = [f for f in verdict.findings if f.stopped]
        failed = [f for f in verdict.findings if not f.passed and f not in stopped[1:]]
        said = dict.fromkeys(f.message.split("\n")[0] for f in failed)
        lines += [f"- {message}" for message in said if message]
        hint = verdict.hint or next((f.hint for f in verdict.findings if f.hint), "")
        if hint:
            lines.append(f"\nHint: {hint}")
    return clean_cell_text("\n".join(lines)[:COMMENT_CHARACTERS])
