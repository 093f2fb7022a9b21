"""The cells of a release, and the match of each cell of a student's notebook to one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from nbformat import NotebookNode
from nbgrader.utils import compute_checksum  # type: ignore[import-untyped]

from autograder.intake.cells import Cell, Document, tidy
from autograder.intake.code import Reading, read_code

# Characters that may be compared for one notebook, which takes some seconds: thousands of cells
# that look like given ones must not keep a class waiting.
PATIENCE = 10_000_000
GRAM = 4  # characters in a row that are compared as one


@dataclass(frozen=True)
class Place:
    """One cell of the release: an answer in code, a written answer, or given."""

    index: int
    cell: NotebookNode
    role: str
    kind: str
    text: str
    grade_id: str
    ids: tuple[str, ...]
    reading: Reading | None
    # What only this answer defines: several answers may each have a variable `working`.
    own: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return self.grade_id or (self.ids[0] if self.ids else f"cell {self.index + 1}")


@dataclass(frozen=True)
class Release:
    """A release notebook, read once for a whole class."""

    notebook: NotebookNode
    places: tuple[Place, ...]

    @property
    def answers(self) -> list[Place]:
        return [place for place in self.places if place.role == "answer"]

    @property
    def written(self) -> list[Place]:
        return [place for place in self.places if place.role == "written"]


@dataclass
class Work:
    """The state of one rebuild: which cell belongs where, and what was found on the way."""

    release: Release
    document: Document
    owner: dict[int, int] = field(default_factory=dict)  # student's cell -> release cell
    owned: dict[int, list[Cell]] = field(default_factory=dict)  # and back
    repairs: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    patience: int = PATIENCE

    def likeness(self, a: str, b: str, floor: float = 0.0) -> float:
        """Like `likeness_of`, until a notebook needs more comparing than any honest one."""
        if self.patience <= 0 or _surely_below(a, b, floor):
            return 0.0
        self.patience -= len(a) + len(b)
        if self.patience <= 0:
            self.flags.append(
                "So many cells differ from the release's that not all could be compared. Check "
                "whether a written answer is missing."
            )
            return 0.0
        return likeness_of(a, b)

    def free(self, *kinds: str) -> list[Cell]:
        return [c for c in self.document.cells if c.index not in self.owner and c.kind in kinds]

    def owned_by(self, place: Place) -> list[Cell]:
        return sorted(self.owned.get(place.index, ()), key=lambda cell: cell.index)

    def claim(self, cell: Cell, place: Place) -> None:
        self.owner[cell.index] = place.index
        self.owned.setdefault(place.index, []).append(cell)


@dataclass(frozen=True)
class Loose:
    """Code outside the answer cells: a cell that the student added, or part of a given one."""

    index: int
    source: str
    cell: Cell
    given: bool = False  # from a given cell that the student has not changed

    @cached_property
    def reading(self) -> Reading:
        return self.cell.reading if self.source == self.cell.source else read_code(self.source)


def read_release(notebook: NotebookNode) -> Release:
    """Read a release notebook once, for many rebuilds."""
    answers = [read_code(c.source).makes for c in notebook.cells if _role(c) == "answer"]
    counts = Counter(name for makes in answers for name in makes)
    places = []
    for index, cell in enumerate(notebook.cells):
        reading = read_code(cell.source) if cell.cell_type == "code" else None
        makes = reading.makes if reading else frozenset()
        own = frozenset(name for name in makes if counts[name] == 1) or makes
        marks = cell.metadata.get("nbgrader", {})
        places.append(
            Place(
                index,
                cell,
                _role(cell),
                cell.cell_type,
                tidy(cell.source),
                marks.get("grade_id", ""),
                tuple(filter(None, (cell.metadata.get("id"), cell.get("id")))),
                reading,
                own,
            )
        )
    return Release(notebook, tuple(places))


def _role(cell: NotebookNode) -> str:
    if not cell.metadata.get("nbgrader", {}).get("solution"):
        return "given"
    return "answer" if cell.cell_type == "code" else "written"


def is_untouched(cell: Cell, place: Place) -> bool:
    """True for the release's own text, of this release or of the one the student began with."""
    if cell.text == place.text or not cell.text:
        return True
    stored = cell.nbgrader.get("checksum")
    if not isinstance(stored, str) or not cell.nbgrader.get("grade_id"):
        return False
    probe = NotebookNode(
        cell_type=cell.kind, source=cell.source, metadata=NotebookNode(nbgrader=cell.nbgrader)
    )
    try:
        return compute_checksum(probe) == stored
    except Exception:  # a student's metadata can contain anything, and then it is no evidence
        return False


def is_retagged(cell: Cell, place: Place) -> bool:
    marks = place.cell.metadata.get("nbgrader", {})
    keys = ("grade", "solution", "locked", "points", "schema_version", "task")
    return bool(cell.nbgrader) and any(
        key in cell.nbgrader and cell.nbgrader[key] != marks.get(key, cell.nbgrader[key])
        for key in keys
    )


def likeness_of(a: str, b: str) -> float:
    """How much two texts have in common, from 0 to 1, in time linear in their lengths.

    Compares which runs of a few letters they have. Moved parts count as common; scrambled letters
    don't.
    """
    mine, theirs = _grams(a), _grams(b)
    return 2 * len(mine & theirs) / (len(mine) + len(theirs)) if a and b else 0.0


@lru_cache(maxsize=64)  # one given text is compared with many cells in a row
def _grams(text: str) -> frozenset[str]:
    return frozenset(text[start : start + GRAM] for start in range(max(1, len(text) - GRAM + 1)))


def _surely_below(a: str, b: str, floor: float) -> bool:
    """Whether the lengths alone rule out that two texts are so similar."""
    return 2 * min(len(a), len(b)) < floor * (len(a) + len(b))


def numbers(parts: Sequence[Cell] | Sequence[Loose]) -> str:
    """Where they are in the student's file, counted from 1: "cell 9", "cells 3, 9"."""
    found = listed([str(part.index + 1) for part in parts], most=20)
    return f"cell {found}" if len(parts) == 1 else f"cells {found}"


def listed(found: Iterable[str], most: int = 6) -> str:
    names = sorted(found) if isinstance(found, set | frozenset) else list(found)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
