"""One page for the instructor: how the class did, what to tell it, and what needs a decision."""

from __future__ import annotations

import math
import re
import shlex
import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from autograder.box.choice import SAID
from autograder.grading import archive
from autograder.grading.record import RunRecord, SubmissionRecord
from autograder.instructor.similar import NOTHING, Alike, SimilarWork
from autograder.nbgrader_parts.marks import Sheet, mean_score, names_of, shown, so_far
from autograder.wording import counted
from course_utils import register
from course_utils.figures import theme
from course_utils.figures.chart import bar_chart

PAGES = Path(__file__).with_name("pages")
BINS = 10
DAY = 24 * 60 * 60


@dataclass(frozen=True)
class LateWork:
    """The due date, who is excused, and for whom the instructor has yet to decide."""

    due: datetime | None = None
    excused: frozenset[str] = frozenset()
    undecided: tuple[str, ...] = ()


IN_TIME = LateWork()


def style() -> Markup:
    """The stylesheet that all our pages share."""
    return Markup((PAGES / "feedback" / "style.css").read_text(encoding="utf-8"))


def page_from(template: str, **values: Any) -> str:
    """One of our pages, as a single file that contains its style."""
    environment = Environment(loader=FileSystemLoader(PAGES), autoescape=True, trim_blocks=True)
    environment.filters |= {"counted": counted, "people": people, "command": command}
    return environment.get_template(template).render(
        style=style() + Markup(theme.RULES),
        written=datetime.now().strftime("%d %B %Y, %H:%M"),
        **values,
    )


def people(names: Iterable[str]) -> Markup:
    """A list of names, which may contain commas or be written from right to left."""
    return Markup("; ").join(Markup("<bdi>{}</bdi>").format(name) for name in names)


def command(line: str) -> Markup:
    """A command that may break between its words, and in a path, but not in an option."""
    parts = re.split(r"(?<!\S)(--[a-z-]+)", line)
    option = Markup('<span class="option">{}</span>')
    return Markup("").join(
        option.format(part) if number % 2 else part for number, part in enumerate(parts)
    )


def render(
    assignment: str,
    sheets: list[Sheet],
    max_score: float,
    records: dict[str, SubmissionRecord],
    runs: list[RunRecord],
    late: LateWork = IN_TIME,
    similar: SimilarWork = NOTHING,
) -> str:
    """The report as one HTML page that needs no other file and runs no script."""
    known = {sheet.student for sheet in sheets}
    sheets = sheets + [Sheet(name, "", "", "", "") for name in sorted(set(records) - known)]
    there = [sheet for sheet in sheets if sheet.submitted]
    unread = {student for student, record in records.items() if not record.graded}
    away = [s for s in sheets if not s.submitted and s.student not in unread]
    names = names_of(sheets)
    absent = [
        f"{names[s.student]}{' (excused)' if s.student in late.excused else ''}" for s in away
    ]
    scores = [sheet.score for sheet in there]
    flagged = _decisions(records, names)
    stopped = _sentences({s: _stopped_cells(r) for s, r in records.items()}, names)
    repaired = _sentences({s: list(r.repairs) for s, r in records.items()}, names)
    exercises = exercises_of(there)
    waiting = sum(1 for sheet in there if sheet.waiting)
    bins = _bins(scores, max_score)
    misconceptions = _misconceptions(records, names, len(there))
    return page_from(
        "report.html.j2",
        assignment=assignment,
        title=notebook_title(assignment),
        students=len(sheets),
        handed_in=len(sheets) - len(absent),
        best_sentence=_hardest(exercises),
        tiles=[
            (_mean(there), f"points on average{so_far(there)}, of {max_score:g}"),
            (shown(statistics.median(scores)), f"median points{so_far(there)}"),
            (str(waiting), "with written answers to mark"),
            (str(len(flagged)), "flagged for a person"),
            (str(len(repaired)), "repaired by intake"),
            *([_late_tile(there, late.due)] if late.due else []),
        ],
        bins=bins,
        histogram=histogram(bins),
        exercises=exercises,
        misconceptions=[m for m in misconceptions if m["count"] > 1],
        rare=[m for m in misconceptions if m["count"] == 1],
        properties=_properties(records),
        flags=flagged,
        waiting=waiting,
        undecided=[names.get(who, who) for who in late.undecided],
        alike=[_alike(group, names) for group in similar.groups],
        common=similar.common,
        files=[[names.get(who, who) for who in group] for group in similar.files],
        stopped=stopped,
        repairs=repaired,
        absent=absent,
        rows=[
            _row(sheet, names[sheet.student], exercises, records.get(sheet.student), late)
            for sheet in sheets
        ],
        runs=[_run(run) for run in reversed(runs[-5:])],
    )


def summary(sheets: list[Sheet], max_score: float, records: dict[str, SubmissionRecord]) -> str:
    """The report in one sentence, with the numbers of its tiles."""
    flagged = sum(bool(record.flags) for record in records.values())
    points = f"{_mean(sheets)} of {max_score:g} points on average{so_far(sheets)}"
    return f"{points}; {flagged} flagged for a person."


def _mean(sheets: list[Sheet]) -> str:
    return shown(mean_score(sheets))


def _late_tile(sheets: list[Sheet], due: datetime) -> tuple[str, str]:
    late = [sheet.seconds_late for sheet in sheets if sheet.seconds_late > 0]
    days = f", by up to {counted(math.ceil(max(late) / DAY), 'day')}" if late else ""
    return str(
        len(late)
    ), f"handed in late{days}; due {due:%-d %B %Y, %H:%M} {due.tzname() or 'UTC'}"


def histogram(bins: list[dict]) -> Markup:
    """Students by points, as bars labelled with their counts."""
    told = "; ".join(f"{b['count']} with {b['label']}" for b in bins if b["count"])
    chart = bar_chart(
        [b["short"] for b in bins],
        [b["count"] for b in bins],
        title="students",
        x_label="points, up to",
        words=f"Students by points: {told}.",
        step=40,
    )
    return Markup(f'<div class="cw">{chart.html}</div>')


def _bins(scores: list[float], most: float) -> list[dict]:
    count = min(BINS, max(2, int(most))) if most else 1
    edges = [most * place / count for place in range(count + 1)]
    bins = []
    for place in range(count):
        low, high = edges[place], edges[place + 1]
        first, last = place == 0, place == count - 1
        inside = [s for s in scores if (first or s > low) and (last or s <= high)]
        start = "0" if first else f"more than {shown(low)}"
        bins.append(
            {
                "label": f"{start} to {shown(high)} points",
                "short": shown(round(high, 1)),
                "count": len(inside),
            }
        )
    return bins


def exercises_of(sheets: list[Sheet]) -> list[dict]:
    """Each exercise, with how the class did on it."""
    marks = defaultdict(list)
    for sheet in sheets:
        for mark in sheet.marks:
            marks[mark.exercise].append(mark)
    found = []
    for name, own in marks.items():
        entry = _entry(name)
        most = own[0].max_score or 1.0
        marked = [mark for mark in own if not mark.waiting]
        mean = statistics.mean(mark.score for mark in marked) if marked else 0.0
        difficulty = entry.difficulty if entry else 0
        found.append(
            {
                "id": name,
                "title": exercise_title(name),
                "written": own[0].written,
                "extra": bool(entry and entry.extra),
                "points": shown(most),
                "mean": shown(mean),
                "share": f"{mean / most:.3f}",
                "percent": round(100 * mean / most),
                "full": sum(mark.score >= most - 1e-9 for mark in marked),
                "none": sum(mark.score == 0 for mark in marked),
                "waiting": sum(mark.waiting for mark in own),
                "difficulty": difficulty,
                "dots": "●" * difficulty + "○" * (5 - difficulty) if difficulty else "",
            }
        )
    return found


def _hardest(exercises: list[dict]) -> str:
    checked = [e for e in exercises if not e["written"]]
    if not checked:
        return ""
    hardest = min(checked, key=lambda e: e["percent"])
    if hardest["percent"] >= 99:
        return "Everyone solved every checked exercise."
    return f"The hardest exercise was {hardest['title']}, with {hardest['percent']}% of its points."


def _misconceptions(
    records: dict[str, SubmissionRecord], names: dict[str, str], handed_in: int
) -> list[dict]:
    who: dict[tuple[str, str], list[str]] = defaultdict(list)
    what = {}
    for student, record in records.items():
        for entry in record.exercises:
            if entry.misconception:
                key = (entry.exercise, entry.misconception)
                who[key].append(names.get(student, student))
                what[key] = entry
    found, most = [], max((len(students) for students in who.values()), default=1)
    for (exercise, name), students in sorted(who.items(), key=lambda item: -len(item[1])):
        share = len(students) / max(1, handed_in)
        found.append(
            {
                "title": name.replace("-", " ").replace("_", " ").capitalize(),
                "exercise": exercise_title(exercise),
                "count": len(students),
                "share": f"{len(students) / most:.3f}",
                "percent": round(100 * share),
                "sentence": what[exercise, name].sentence,
                "hint": what[exercise, name].hint,
                "students": sorted(students),
            }
        )
    return found


def _properties(records: dict[str, SubmissionRecord], most: int = 8) -> list[dict]:
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for record in records.values():
        for entry in record.exercises:
            for finding in entry.findings:
                if not finding.passed:
                    counts[entry.exercise, finding.name] += 1
    ordered = sorted(counts.items(), key=lambda item: -item[1])[:most]
    return [
        {"exercise": exercise_title(exercise), "name": name, "count": count}
        for (exercise, name), count in ordered
    ]


def _decisions(records: dict[str, SubmissionRecord], names: dict[str, str]) -> list[dict]:
    """What a person must decide: about whom, why, the file to look at and the command to run."""
    found = []
    for student, record in records.items():
        if record.flags:
            found.append(
                {
                    "who": names.get(student, student),
                    "sentences": [str(flag) for flag in record.flags],
                    "file": str(_file_to_look_at(record)),
                    "command": _next_command(record),
                }
            )
    return sorted(found, key=lambda one: one["who"])


def _file_to_look_at(record: SubmissionRecord) -> Path:
    """The original file, or the one in nbgrader's folder if nothing in it was repaired."""
    if record.graded and {flag.source for flag in record.flags} <= {"box", "judge"}:
        return _submitted(record)
    return archive.original_path(record)


def _submitted(record: SubmissionRecord) -> Path:
    return Path("submitted", record.student, record.assignment, f"{record.assignment}.ipynb")


def _next_command(record: SubmissionRecord) -> str:
    """Judge the answer again if the box or the judge stopped it; otherwise grade a better file."""
    for flag in record.flags:
        if record.graded and flag.exercise and flag.source in ("box", "judge"):
            return shlex.join(["autograder", "check", flag.exercise, str(_submitted(record))])
    only = shlex.quote(record.student)
    return f"autograder grade {record.assignment} SUBMISSIONS --only {only}"


def _alike(group: Alike, names: dict[str, str]) -> dict:
    """A group of answers, with the texts of the first three."""
    return {
        "title": exercise_title(group.exercise),
        "students": [names.get(who, who) for who in group.students],
        "texts": [
            (names.get(who, who), text.strip())
            for who, text in zip(group.students[:3], group.texts, strict=False)
        ],
        "percent": round(100 * group.share),
        "answered": group.answered,
        "rare": group.rare,
        "of": group.of,
        "written": group.written,
    }


def _sentences(
    by_student: dict[str, list[str]], names: dict[str, str]
) -> list[tuple[str, list[str]]]:
    return sorted((names.get(who, who), said) for who, said in by_student.items() if said)


def _stopped_cells(record: SubmissionRecord) -> list[str]:
    """The errors of answer cells that defined nothing; a missing package is among the flags."""
    return [
        f"{exercise_title(entry.exercise)}: {entry.message}"
        for entry in record.exercises
        if entry.box == "cell"
    ]


def _row(
    sheet: Sheet,
    name: str,
    exercises: list[dict],
    record: SubmissionRecord | None,
    dates: LateWork,
) -> dict:
    marks = {mark.exercise: mark for mark in sheet.marks}
    cells = []
    for exercise in exercises:
        mark = marks.get(exercise["id"])
        cells.append("" if mark is None else "to mark" if mark.waiting else shown(mark.score))
    late = counted(math.ceil(sheet.seconds_late / DAY), "day") if sheet.seconds_late else ""
    late += f", −{shown(sheet.penalty)}" if sheet.penalty else ""
    nothing = "excused" if sheet.student in dates.excused else "nothing"
    score = shown(sheet.score) if sheet.submitted else "not graded" if record else nothing
    flagged = bool(record and record.flags)
    return {"name": name, "cells": cells, "late": late, "score": score, "flagged": flagged}


def _run(run: RunRecord) -> dict:
    return {
        "started": run.started.replace("T", " ").removesuffix("+00:00") + " UTC",
        "submissions": run.submissions,
        "seconds": shown(run.seconds),
        "place": "on this machine" if run.where == "local" else f"on the cluster {run.where}",
        "isolation": SAID[run.isolation],
        "seeds": run.seeds,
    }


def notebook_title(assignment: str) -> str:
    try:
        return f"{assignment[:2]} · {register.notebook(assignment).title}"
    except KeyError:
        return assignment


def _entry(exercise: str) -> register.Exercise | None:
    try:
        return register.exercise(exercise)
    except KeyError:
        return None


def exercise_title(exercise: str) -> str:
    """As on every page: names of code as they are, other titles with a capital."""
    entry = _entry(exercise)
    title = entry.title if entry else exercise
    return title if entry and entry.checked else title[:1].upper() + title[1:]
