"""Late days cost what the course says, also after a mark was given by hand."""

import pytest
from nbgrader.api import Gradebook

from autograder.instructor.course import open_course, open_gradebook
from autograder.instructor.late import DAY, LateDays
from autograder.nbgrader_parts.configuration import own_settings
from autograder.nbgrader_parts.late import refresh_penalties


@pytest.mark.parametrize(
    ("days", "free", "penalty"),
    [(0.1, 0, 0.8), (1.0, 0, 0.8), (1.2, 0, 1.6), (1.2, 1, 0.8), (0.5, 1, None), (30, 0, 8.0)],
)
def test_each_day_begun_costs_its_share(days, free, penalty):
    plugin = LateDays(share_a_day=0.1, free_days=free)
    assert plugin.late_submission_penalty("s1", 8.0, days * DAY) == penalty


@pytest.mark.box
def test_a_mark_by_hand_changes_the_penalty_of_a_late_submission(course):
    opened = open_course(course)
    with open_gradebook(opened) as gradebook:
        late = next(
            s
            for s in gradebook.assignment_submissions("03_attention")
            if s.total_seconds_late > 0 and s.score > 0
        )
        student, before = late.student_id, late.late_submission_penalty
        days = -(-late.total_seconds_late // DAY)
        written = next(g for g in late.notebooks[0].grades if g.cell.cell_type == "markdown")
        written.manual_score = 1.0
        gradebook.db.commit()
        refresh_penalties(gradebook, own_settings(opened.root), ["03_attention"])
    with Gradebook(opened.db_url) as gradebook:
        after = gradebook.find_submission("03_attention", student).late_submission_penalty
    assert after == pytest.approx(before + 0.1 * days)
