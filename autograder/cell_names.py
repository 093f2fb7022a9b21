"""The names of a notebook's graded cells: the exercise, with an ending for their kind."""

CHECK = "-check"
RUBRIC = "-rubric"


def check_cell(exercise: str) -> str:
    """The name (grade_id) of the cell that checks an exercise and carries its points."""
    return exercise + CHECK


def rubric_cell(exercise: str) -> str:
    """The name of the cell with the rubric of a written answer."""
    return exercise + RUBRIC


def exercise_of(cell: str) -> str:
    """The exercise that an answer cell or a check cell belongs to."""
    return cell.removesuffix(CHECK)
