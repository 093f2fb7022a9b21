"""The cells of a release, and whose cell of a student's notebook stands for which."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from nbformat import NotebookNode
from nbgrader.utils import compute_checksum

from autograder.intake.cells import Cell, Document, tidy
from autograder.intake.code import Reading, read_code

# Comparing two texts takes time with the product of their lengths. This is some seconds of it: a
# notebook made of thousands of scrambled cells must not keep a class waiting.
PATIENCE = 50_000_000


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
    """The state of one rebuilding: who owns which cell, and what was found out on the way."""

    release: Release
    document: Document
    owner: dict[int, int] = field(default_factory=dict)  # student's cell -> release cell
    owned: dict[int, list[Cell]] = field(default_factory=dict)  # and back
    repairs: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    patience: int = PATIENCE

    def likeness(self, a: str, b: str, floor: float = 0.0) -> float:
        """As `likeness_of`, until a notebook has cost more comparing than any honest one does."""
        if self.patience <= 0 or _surely_below(a, b, floor):
            return 0.0
        if not self._spend(20 * (len(a) + len(b))) or _quick_likeness(a, b) < floor:
            return 0.0
        return likeness_of(a, b) if self._spend(len(a) * len(b)) else 0.0

    def _spend(self, effort: int) -> bool:
        self.patience -= effort
        if self.patience <= 0:
            self.flags.append(
                "So many cells are unlike the release's that not all could be compared: look "
                "whether a written answer is missing."
            )
        return self.patience > 0

    def free(self, *kinds: str) -> list[Cell]:
        return [c for c in self.document.cells if c.index not in self.owner and c.kind in kinds]

    def owned_by(self, place: Place) -> list[Cell]:
        return sorted(self.owned.get(place.index, ()), key=lambda cell: cell.index)

    def claim(self, cell: Cell, place: Place) -> None:
        self.owner[cell.index] = place.index
        self.owned.setdefault(place.index, []).append(cell)


@dataclass(frozen=True)
class Loose:
    """Code outside the answer cells: a cell of the student's own, or an addition to a given one."""

    index: int
    source: str
    cell: Cell

    @property
    def reading(self) -> Reading:
        return read_code(self.source)


def read_release(notebook: NotebookNode) -> Release:
    """Reads a release notebook once, for many rebuildings."""
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
    except Exception:  # the student's metadata can hold anything; then it tells nothing
        return False


def is_retagged(cell: Cell, place: Place) -> bool:
    marks = place.cell.metadata.get("nbgrader", {})
    keys = ("grade", "solution", "locked", "points", "schema_version", "task")
    return bool(cell.nbgrader) and any(
        key in cell.nbgrader and cell.nbgrader[key] != marks.get(key, cell.nbgrader[key])
        for key in keys
    )


def likeness_of(a: str, b: str) -> float:
    return SequenceMatcher(None, a, b, autojunk=False).ratio() if _comparable(a, b) else 0.0


def _quick_likeness(a: str, b: str) -> float:
    """Never below `likeness_of`, and quick: by which letters there are, in whatever order."""
    return SequenceMatcher(None, a, b, autojunk=False).quick_ratio()


def _comparable(a: str, b: str) -> bool:
    return 0 < len(a) <= 20_000 and 0 < len(b) <= 20_000


def _surely_below(a: str, b: str, floor: float) -> bool:
    """Whether the lengths alone say that two texts are not that alike."""
    return not _comparable(a, b) or 2 * min(len(a), len(b)) < floor * (len(a) + len(b))


def numbers(parts: list[Cell] | list[Loose]) -> str:
    return ", ".join(str(part.index + 1) for part in parts)


def listed(names: object, most: int = 6) -> str:
    names = sorted(names) if isinstance(names, set | frozenset) else list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
