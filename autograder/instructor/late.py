"""Late days, by nbgrader's own plugin, worked out again whenever marks have changed.

nbgrader takes the penalty off once, when it autogrades. A mark given by hand later changes the
score, so it is worked out again before grades or feedback go out, with the same plugin.
"""

from __future__ import annotations

import math

from nbgrader.api import Gradebook
from nbgrader.plugins import LateSubmissionPlugin
from traitlets import Float, Integer

from autograder.grading.course import course_config
from autograder.grading.gradebook import late_plugin
from autograder.instructor.course import Course

DAY = 24 * 60 * 60


class LateDays(LateSubmissionPlugin):
    """A share of the score for each day begun, after some days that cost nothing.

    In nbgrader_config.py of the course:

        c.AssignLatePenalties.plugin_class = "autograder.instructor.late.LateDays"
        c.LateDays.share_a_day = 0.1
        c.LateDays.free_days = 1
    """

    share_a_day = Float(0.1, min=0, max=1, help="share of the score lost a day").tag(config=True)
    free_days = Integer(0, min=0, help="late days that cost nothing").tag(config=True)

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        days = math.ceil(total_seconds_late / DAY) - self.free_days
        return round(score * min(1.0, days * self.share_a_day), 6) if days > 0 else None


def refresh_penalties(course: Course, gradebook: Gradebook, assignments: list[str]) -> int:
    """Works out every late penalty from the scores as they are now; how many were changed."""
    plugin = late_plugin(course_config(course.root))
    changed = 0
    for name in assignments:
        for submission in gradebook.assignment_submissions(name):
            for notebook in submission.notebooks:
                penalty = None
                if submission.total_seconds_late > 0:
                    penalty = plugin.late_submission_penalty(
                        submission.student.id, notebook.score, submission.total_seconds_late
                    )
                if penalty is not None:
                    penalty = min(max(0.0, penalty), notebook.score)
                if notebook.late_submission_penalty != penalty:
                    notebook.late_submission_penalty = penalty
                    changed += 1
    gradebook.db.commit()
    return changed
