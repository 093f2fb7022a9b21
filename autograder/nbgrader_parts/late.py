"""What late days cost, by nbgrader's own plug-in: worked out when grading, and again later.

nbgrader takes the penalty off once, when it autogrades. A mark given by hand later changes the
score, so the penalty is worked out again before grades or feedback go out.
"""

from __future__ import annotations

from collections.abc import Iterable

from nbgrader.api import Gradebook, SubmittedAssignment, SubmittedNotebook
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties
from traitlets.config import Config


def late_plugin(config: Config | None) -> LateSubmissionPlugin:
    """nbgrader's own plug-in, or the class that the course names."""
    return AssignLatePenalties(config=config).plugin_class(config=config)


def late_penalty(
    plugin: LateSubmissionPlugin, submission: SubmittedAssignment, notebook: SubmittedNotebook
) -> float | None:
    """The points to take off: never more than there are, and None for work in time."""
    seconds = submission.total_seconds_late
    if seconds <= 0:
        return None
    penalty = plugin.late_submission_penalty(submission.student_id, notebook.score, seconds)
    return None if penalty is None else max(0.0, min(penalty, notebook.score))


def refresh_penalties(gradebook: Gradebook, config: Config, assignments: Iterable[str]) -> int:
    """Work out every late penalty from the scores as they are now; how many were changed."""
    plugin, changed = late_plugin(config), 0
    for name in assignments:
        for submission in gradebook.assignment_submissions(name):
            for notebook in submission.notebooks:
                penalty = late_penalty(plugin, submission, notebook)
                if notebook.late_submission_penalty != penalty:
                    notebook.late_submission_penalty = penalty
                    changed += 1
    gradebook.db.commit()
    return changed
