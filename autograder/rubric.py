"""Reads mark schemes: each line gives a number of points and what they are for."""

from __future__ import annotations

import re
from dataclasses import dataclass

IN_WORDS = {
    "a quarter of a point": 0.25,
    "half a point": 0.5,
    "three quarters of a point": 0.75,
    "one and a half points": 1.5,
}
LINE = re.compile(
    rf"^[-*] +({'|'.join(IN_WORDS)}|\d+(?:\.\d+)?)(?: points?)?: *(.+?)(?=\n[-*] |\n\n|\n\S|\Z)",
    re.M | re.S | re.I,
)
PARTS = re.compile(r"\*\*Rubric\*\*\s*(.*?)\s*\*\*Model answer\*\*\s*(.*?)\s*(?:<!--|\Z)", re.S)


@dataclass(frozen=True)
class Line:
    """One line of a mark scheme."""

    points: float
    text: str


@dataclass(frozen=True)
class MarkScheme:
    """What the person who marks sees beside an answer.

    notes: what the scheme contains besides its lines.
    """

    lines: tuple[Line, ...]
    notes: str = ""
    model: str = ""

    def worth(self, points: float) -> MarkScheme:
        """The same for a question that gives `points`: a class may have changed them."""
        total = sum(line.points for line in self.lines)
        if not total or abs(total - points) < 1e-9:
            return self
        lines = tuple(Line(round(e.points * points / total, 3), e.text) for e in self.lines)
        return MarkScheme(lines, self.notes, self.model)


def read_lines(scheme: str) -> tuple[Line, ...]:
    """The lines of a mark scheme: `- half a point: why`, or `- 0.5: why`."""
    return tuple(
        Line(_points(found[1]), " ".join(found[2].split()).rstrip(";"))
        for found in LINE.finditer(scheme)
    )


def mark_scheme(cell: str) -> MarkScheme:
    """What the cell after a written answer contains for the person who marks (see `build`)."""
    found = PARTS.search(cell)
    if found is None:
        return MarkScheme((), cell.strip())
    scheme = found[1]
    notes = LINE.sub("", scheme).strip()
    return MarkScheme(read_lines(scheme), notes, found[2].strip())


def _points(text: str) -> float:
    return IN_WORDS[text.lower()] if text.lower() in IN_WORDS else float(text)
