"""What late days cost, by nbgrader's own plug-in: calculated when grading, and again later.

nbgrader takes the penalty off once, when it autogrades. A mark given by hand later changes the
score, so the penalty is worked out again before grades or feedback go out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from nbgrader.api import Gradebook, SubmittedAssignment, SubmittedNotebook
from nbgrader.plugins import LateSubmissionPlugin
from traitlets.config import Config

from autograder import choices
from autograder.course_files import CourseError, write_atomically
from autograder.grading import archive
from autograder.nbgrader_parts.marks import seconds_late
from autograder.nbgrader_parts.times import Times, Timetable, timetable
from autograder.wording import counted

DAY = 24 * 60 * 60
EVERYBODY = ""  # no student's id


def late_plugin(config: Config | None) -> LateSubmissionPlugin:
    """nbgrader's own plug-in, or the class that the course names."""
    if config is None or not any("plugin_class" in section for section in config.values()):
        return LateSubmissionPlugin(config=config)
    from nbgrader.preprocessors import AssignLatePenalties  # it imports nbconvert

    return AssignLatePenalties(config=config).plugin_class(config=config)


def late_penalty(
    plugin: LateSubmissionPlugin,
    submission: SubmittedAssignment,
    notebook: SubmittedNotebook,
    zone: tzinfo | None = None,
) -> float | None:
    """The points to deduct: never more than there are, and None for work on time."""
    seconds = seconds_late(submission, zone)
    if seconds <= 0:
        return None
    penalty = plugin.late_submission_penalty(submission.student_id, notebook.score, seconds)
    return None if penalty is None else max(0.0, min(penalty, notebook.score))


@dataclass(frozen=True)
class Lateness:
    """When a submission was due and came, in UTC, and what its late days cost."""

    due: datetime | None = None
    handed_in: datetime | None = None
    days: int = 0
    penalty: float = 0.0
    excused: bool = False
    zone: tzinfo = UTC  # the zone in which people read times

    @property
    def sentence(self) -> str:
        """A sentence for the student and the instructor; empty if there is nothing to report."""
        if self.due is None or not self.days:
            return ""
        when = f"due {self._shown(self.due)}, handed in {self._shown(self.handed_in)}"
        cost = f"{round(self.penalty, 2):g} points were deducted" if self.penalty else "no cost"
        cost = "excused" if self.excused else cost
        return f"{counted(self.days, 'day')} late ({when}): {cost}."

    def _shown(self, moment: datetime | None) -> str:
        if moment is None:
            return "at an unknown time"
        return f"{moment.replace(tzinfo=UTC).astimezone(self.zone):%-d %B %Y, %H:%M %Z}"


def lateness(submission: SubmittedAssignment, table: Timetable | None = None) -> Lateness:
    """What the gradebook knows about the times of a submission."""
    times = table.of(submission.student_id, submission.assignment.name) if table else Times()
    zone = table.chosen.zone if table else None
    return Lateness(
        submission.duedate if submission.assignment.duedate else None,
        submission.timestamp,
        math.ceil(seconds_late(submission, zone) / DAY),
        submission.late_submission_penalty or 0.0,
        times.excused,
        zone or UTC,
    )


def refresh_penalties(
    gradebook: Gradebook, config: Config, assignments: Iterable[str], course: Path | None = None
) -> int:
    """Calculate every late penalty from the current scores and times; returns how many changed.

    `course` has the times that are not in the gradebook: course.toml and times.csv.
    """
    plugin, changed = late_plugin(config), 0
    table = timetable(course) if course else None
    zone = table.chosen.zone if table else None
    for name in assignments:
        if course and table:
            _bring_times(gradebook, course, name, table)
        for submission in gradebook.assignment_submissions(name):
            excused = table is not None and table.of(submission.student_id, name).excused
            for notebook in submission.notebooks:
                penalty = None if excused else late_penalty(plugin, submission, notebook, zone)
                if notebook.late_submission_penalty != penalty:
                    notebook.late_submission_penalty = penalty
                    changed += 1
    gradebook.db.commit()
    return changed


def _bring_times(gradebook: Gradebook, course: Path, name: str, table: Timetable) -> None:
    """Apply the due dates, extensions and times in course.toml and times.csv.

    What was set here and is no longer in those files is taken back; what somebody else set stays.
    """
    assignment = gradebook.find_assignment(name)
    due = table.due(name)
    ours = _read_ours(course, name)
    now: dict[str, dict[str, bool]] = {}
    if due is not None:
        assignment.duedate, now[EVERYBODY] = naive_utc(due), {"due": True}
    elif ours.get(EVERYBODY, {}).get("due"):
        assignment.duedate = None
    for submission in gradebook.assignment_submissions(name):
        student = submission.student_id
        times, before = table.of(student, name), ours.get(student, {})
        own: dict[str, bool] = {}
        if times.handed_in is not None:
            submission.timestamp, own["timestamp"] = naive_utc(times.handed_in), True
        elif before.get("timestamp"):
            record = archive.read_record(course, name, student)
            known = record.timestamp if record else None
            submission.timestamp = naive_utc(known) if known else None
        if times.due is not None:
            if assignment.duedate is None:
                raise CourseError(
                    f"{student} has a due date for {name}, but the assignment itself has none. Add "
                    f"it to {choices.FILE}: a line [due], and below it {name} = 2027-03-05T18:00:00Z."
                )
            submission.extension = naive_utc(times.due) - assignment.duedate
            own["extension"] = True
        elif before.get("extension"):
            submission.extension = None
        if own:
            now[student] = own
    if now != ours:
        content = json.dumps(now, ensure_ascii=False, indent=1) + "\n"
        write_atomically(_ours(course, name), content.encode())


def _ours(course: Path, assignment: str) -> Path:
    return course / archive.FOLDER / "times" / f"{assignment}.json"


def _read_ours(course: Path, assignment: str) -> dict[str, dict[str, bool]]:
    try:
        return dict(json.loads(_ours(course, assignment).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def naive_utc(moment: datetime) -> datetime:
    """nbgrader stores times in UTC without a time zone."""
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
