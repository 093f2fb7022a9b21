"""What only instructors have: sources with solutions, hidden checks, the grader."""

import sys

from autograder.seeds import fresh_seeds


def hidden_check(exercise_id: str, seeds=None):
    """The check in stock nbgrader's hidden tests: the same judge on numbers not seen before."""
    from autograder import oracles  # noqa: F401 - gives the judge its oracles
    from course_utils.checks import judge
    from course_utils.notebook import judge_here

    plan = judge.make_plan(exercise_id, seeds or fresh_seeds())
    return judge_here(plan, sys._getframe(1).f_globals)


def check(exercise_id: str, path):
    """The verdict on one answer in a file: a `.py` with the class, or a notebook."""
    from autograder.one_answer import check_file

    return check_file(exercise_id, path)
