"""The answers of a class to one written question, with equal ones merged and similar ones adjacent."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader import utils
from rapidfuzz import fuzz, process
from rapidfuzz.distance import Indel

from autograder.grading import archive
from autograder.grading.record import fingerprint
from autograder.instructor.course import Course
from autograder.instructor.fragments import LONGEST_TEXT

SIMILAR = 80  # percent of the letters in the same order
COMPARED = 2_000  # letters of an answer: enough to sort by, however long it is
MOST_CHANGES = 12
FURTHER_DOWN = "in what is not shown of it"


@dataclass(frozen=True)
class Answer:
    """What one student wrote."""

    student: str
    source: str
    attachments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Equal for answers that differ only in white space. Pictures count: they may differ."""
        content = [" ".join(self.source.split()), self.attachments]
        return fingerprint(json.dumps(content, sort_keys=True).encode())[:20]


@dataclass(frozen=True)
class Group:
    """Students with one and the same answer.

    like: the group above with an answer that is nearly the same, if any.
    """

    key: str
    students: tuple[str, ...]
    source: str
    attachments: Mapping[str, Any]
    like: Group | None = None


def read_answers(
    course: Course, assignment: str, exercise: str, students: Sequence[str]
) -> tuple[list[Answer], list[str]]:
    """The answers of these students, and the students who left the question empty."""
    answers, empty = [], []
    for student in students:
        folder = course.folder("autograded", archive.folder_name(student), assignment)
        path = folder / f"{assignment}.ipynb"
        try:
            cell = _cell(path, path.stat().st_mtime_ns, exercise)
        except OSError:
            continue
        if cell is not None and _untouched(cell):
            empty.append(student)
        elif cell is not None:
            answers.append(Answer(student, cell.source, cell.get("attachments", {})))
    return answers, empty


def _untouched(cell: NotebookNode) -> bool:
    return bool(cell.metadata.nbgrader.get("checksum") == utils.compute_checksum(cell))


@lru_cache(maxsize=8192)
def _cell(path: Path, changed: int, exercise: str) -> NotebookNode | None:
    """The cell of an answer, read again only if its file has changed."""
    for cell in nbformat.read(path, as_version=4).cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("grade_id") == exercise and marks.get("solution"):
            return cell
    return None


def grouped(answers: Sequence[Answer]) -> list[Group]:
    """Groups of equal answers, most common first, each followed by the groups similar to it."""
    equal: dict[str, list[Answer]] = {}
    for answer in answers:
        equal.setdefault(answer.key, []).append(answer)
    order = sorted(equal.values(), key=lambda same: (-len(same), len(same[0].source), same[0].key))
    texts = [" ".join(same[0].source.split())[:COMPARED].casefold() for same in order]
    alike = process.cdist(texts, texts, scorer=fuzz.ratio, score_cutoff=SIMILAR)
    groups: list[Group] = []
    placed: set[int] = set()
    for first in range(len(order)):
        if first in placed:
            continue
        leader = _group(order[first])
        groups.append(leader)
        near = [n for n in range(first + 1, len(order)) if alike[first][n] and n not in placed]
        near.sort(key=lambda n: -alike[first][n])
        groups += [_group(order[n], leader) for n in near]
        placed |= {first, *near}
    return groups


def _group(same: Sequence[Answer], like: Group | None = None) -> Group:
    one = same[0]
    return Group(one.key, tuple(sorted(a.student for a in same)), one.source, one.attachments, like)


def shares(groups: Sequence[Group], count: int) -> list[list[Group]]:
    """The groups for each of `count` people, in their order: about as many for each of them.

    Similar answers stay together, so that one person judges them, unless they are more than a share.
    """
    most = math.ceil(len(groups) / count)
    rows: list[list[Group]] = []
    for group in groups:
        if group.like is None or len(rows[-1]) >= most:
            rows.append([])
        rows[-1].append(group)
    chosen: list[list[int]] = [[] for _ in range(count)]
    size = [0] * count
    for place in sorted(range(len(rows)), key=lambda place: -len(rows[place])):
        smallest = size.index(min(size))
        chosen[smallest].append(place)
        size[smallest] += len(rows[place])
    return [[group for place in sorted(own) for group in rows[place]] for own in chosen]


def difference(group: Group) -> str:
    """The words in which an answer differs from the similar one, as HTML."""
    if group.like is None:
        return ""
    # no more than the page shows of them
    old, new = (one.source[:LONGEST_TEXT].split() for one in (group.like, group))
    changes = []
    for start, end, new_start, new_end in _changed(old, new):
        gone, come = " ".join(old[start:end]), " ".join(new[new_start:new_end])
        changes.append(_change("del", gone) + _change("ins", come))
    if not changes:  # pictures differ, or the ends of two very long texts
        return FURTHER_DOWN if group.source != group.like.source else ""
    more = f" and {len(changes) - MOST_CHANGES} more" if len(changes) > MOST_CHANGES else ""
    return " · ".join(changes[:MOST_CHANGES]) + more


def _changed(old: list[str], new: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Where the words differ: from and to in the old ones, from and to in the new ones."""
    start = new_start = 0
    for block in Indel.opcodes(old, new):
        if block.tag == "equal":
            if (start, new_start) != (block.src_start, block.dest_start):
                yield start, block.src_start, new_start, block.dest_start
            start, new_start = block.src_end, block.dest_end
    if (start, new_start) != (len(old), len(new)):
        yield start, len(old), new_start, len(new)


def _change(tag: str, words: str) -> str:
    return f"<{tag}>{html.escape(words[:200])}</{tag}>" if words else ""
