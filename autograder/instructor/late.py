"""A plug-in for nbgrader that deducts a share of the score per late day."""

from __future__ import annotations

import math

from nbgrader.plugins import LateSubmissionPlugin
from traitlets import Float, Integer

DAY = 24 * 60 * 60


class LateDays(LateSubmissionPlugin):
    """Deduct a share of the score per day begun, after some days that cost nothing.

    In nbgrader_config.py of the course:

        c.AssignLatePenalties.plugin_class = "autograder.instructor.late.LateDays"
        c.LateDays.share_a_day = 0.1
        c.LateDays.free_days = 1
    """

    share_a_day = Float(0.1, min=0, max=1, help="share of the score lost per day").tag(config=True)
    free_days = Integer(0, min=0, help="late days that cost nothing").tag(config=True)

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        days = math.ceil(total_seconds_late / DAY) - self.free_days
        return round(score * min(1.0, days * self.share_a_day), 6) if days > 0 else None
