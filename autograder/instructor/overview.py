"""One page over all assignments: the progress of the class, what was hard, who may need help."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograder.grading.record import SubmissionRecord
from autograder.instructor.report import (
    DAY,
    exercises_of,
    notebook_title,
    page_from,
)
from autograder.nbgrader_parts.marks import Sheet, mean_score, names_of, shown, so_far

LITTLE = 0.4  # of the points; who has less may need help
HARDEST = 8


@dataclass(frozen=True)
class Graded:
    """One assignment, with the marks and records of the class."""

    assignment: str
    max_score: float
    sheets: tuple[Sheet, ...]
    records: Mapping[str, SubmissionRecord]
    excused: frozenset[str] = frozenset()
    undecided: tuple[str, ...] = ()  # students whose lateness the instructor must settle

    @property
    def there(self) -> list[Sheet]:
        return [sheet for sheet in self.sheets if sheet.submitted]

    def unread(self, student: str) -> bool:
        return student in self.records and not self.records[student].graded


def render(graded: Sequence[Graded]) -> str:
    """The page, for the assignments that somebody has handed in."""
    people = _students(graded)
    hard = sorted(
        (
            {**exercise, "assignment": one.assignment}
            for one in graded
            for exercise in exercises_of(one.there)
            if not exercise["waiting"]
        ),
        key=lambda exercise: exercise["percent"],
    )
    rows = [_row(student, name, graded) for student, name in people.items()]
    waiting = sum(sheet.waiting > 0 for one in graded for sheet in one.there)
    flagged = sum(bool(record.flags) for one in graded for record in one.records.values())
    late = sum(row["late"] for row in rows)
    return page_from(
        "overview.html.j2",
        tiles=[
            (str(len(people)), "students"),
            (str(len(graded)), "assignments graded"),
            (str(waiting), "submissions with answers to mark"),
            (str(flagged), "submissions flagged"),
            (str(late), "late days in total"),
        ],
        assignments=[_assignment(one, len(people)) for one in graded],
        hardest=hard[:HARDEST],
        easier=hard[HARDEST:],
        rows=rows,
        help=[row for row in rows if row["why"]],
    )


def _students(graded: Sequence[Graded]) -> dict[str, str]:
    """Every student, by id, with their name as far as it is known."""
    names = names_of({sheet.student: sheet for one in graded for sheet in one.sheets}.values())
    for one in graded:
        for student in one.records:
            names.setdefault(student, student)
    return dict(sorted(names.items(), key=lambda item: (item[1].casefold(), item[0])))


def _assignment(one: Graded, students: int) -> dict:
    handed_in = len({s.student for s in one.there} | {s for s in one.records if one.unread(s)})
    mean = mean_score(one.there) if one.there else 0.0
    return {
        "name": one.assignment,
        "title": notebook_title(one.assignment),
        "handed_in": handed_in,
        "students": students,
        "handed_share": f"{handed_in / max(1, students):.3f}",
        "mean": f"{shown(mean)} of {shown(one.max_score)}{so_far(one.there)}",
        "mean_share": f"{min(1.0, mean / one.max_score) if one.max_score else 0:.3f}",
        "waiting": sum(sheet.waiting > 0 for sheet in one.there),
        "flagged": sum(bool(record.flags) for record in one.records.values()),
        "late": sum(sheet.seconds_late > 0 for sheet in one.there),
    }


def _row(student: str, name: str, graded: Sequence[Graded]) -> dict:
    """One student: points of each assignment, their sum, late days, and why to look."""
    cells, points, possible, late, missing = [], 0.0, 0.0, 0, 0
    for one in graded:
        sheet = next((s for s in one.sheets if s.student == student), None)
        if sheet is not None and sheet.submitted:
            cells.append(shown(sheet.score) + (" so far" if sheet.waiting else ""))
            points += sheet.score
            possible += one.max_score - sum(m.max_score for m in sheet.marks if m.waiting)
            late += math.ceil(sheet.seconds_late / DAY) if sheet.seconds_late > 0 else 0
        elif one.unread(student):
            cells.append("not graded")
        elif student in one.excused:
            cells.append("excused")
        else:
            cells.append("nothing")
            missing += 1
            possible += one.max_score
    return {
        "name": name,
        "cells": cells,
        "points": shown(points),
        "late": late,
        "why": _why(points, max(0.0, possible), missing, len(graded)),
    }


def _why(points: float, possible: float, missing: int, assignments: int) -> str:
    """Why somebody may need help; empty for most. Unmarked answers don't count yet."""
    if missing == assignments:
        return "has handed in nothing"
    if missing >= 2:
        return f"has not handed in {missing} of {assignments}"
    if possible and points < LITTLE * possible:
        return f"has {shown(points)} of {shown(possible)} points"
    return ""
