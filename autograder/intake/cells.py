"""Reads a notebook file into plain cells, however odd the file is."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import nbformat

from autograder.intake.code import Reading, read_code
from autograder.intake.text import clean_cell_text, clean_name

MOST_CELLS = 5000
MOST_TEXT = 1_000_000  # characters in all cells, without outputs; an honest notebook has 30,000
# Each list, object and value takes tens of bytes of memory, however short it is in the file.
MOST_LISTS = 1_000_000
MOST_VALUES = 3_000_000


class Unreadable(ValueError):
    """The file is not a notebook; the message tells a person what it is instead."""


@dataclass(frozen=True)
class Cell:
    """One cell of a student's notebook."""

    index: int
    kind: str
    source: str
    metadata: dict = field(default_factory=dict)
    outputs: object = None
    attachments: object = None
    cell_id: str = ""

    @cached_property
    def nbgrader(self) -> dict:
        found = self.metadata.get("nbgrader")
        return found if isinstance(found, dict) else {}

    @cached_property
    def grade_id(self) -> str:
        return clean_name(self.nbgrader.get("grade_id"))

    @cached_property
    def ids(self) -> tuple[str, ...]:
        return tuple(filter(None, (clean_name(self.metadata.get("id")), self.cell_id)))

    @cached_property
    def reading(self) -> Reading:
        return read_code(self.source)

    @cached_property
    def text(self) -> str:
        return tidy(self.source)


@dataclass(frozen=True)
class Document:
    """A student's notebook: its cells and its metadata."""

    cells: tuple[Cell, ...]
    metadata: dict
    minor: int
    notes: tuple[str, ...] = ()


def tidy(source: str) -> str:
    """Source without trailing blanks, for comparing."""
    return "\n".join(line.rstrip() for line in source.strip().split("\n"))


@lru_cache(maxsize=1)  # each file is read twice: for its assignment, then for its answers
def read_document(original: bytes) -> Document:
    """The cells of a notebook file; do not change them. Raises Unreadable with a sentence."""
    text = _decode(original)
    if not text.strip():
        raise Unreadable("The file is empty.")
    if text.count("[") + text.count("{") > MOST_LISTS or text.count(",") > MOST_VALUES:
        raise Unreadable(
            "The file contains millions of lists or numbers, more than any notebook needs, so it was "
            "not read. Ask for it again with its outputs cleared."
        )
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(_not_json(text, error)) from None
    if not isinstance(content, dict):
        raise Unreadable("The file is JSON, but not a notebook.")
    notes = []
    if content.get("nbformat") in (1, 2, 3) or "worksheets" in content:
        try:
            content = nbformat.convert(nbformat.from_dict(content), 4)
        except Exception as error:  # an old converter fails in many ways; all mean the same here
            raise Unreadable(f"It is a damaged notebook in an old format ({error}).") from None
        notes.append("The notebook was in an old format (before 4) and was converted.")
    raw = content.get("cells")
    if not isinstance(raw, list):
        raise Unreadable("The file is JSON, but not a notebook: it has no list of cells.")
    if not raw:
        raise Unreadable("The notebook has no cells.")
    if len(raw) > MOST_CELLS:
        raise Unreadable(f"The notebook has {len(raw)} cells; at most {MOST_CELLS} can be read.")
    cells = []
    for index, cell in enumerate(raw):
        if isinstance(cell, dict):
            cells.append(_cell(index, cell))
        else:
            notes.append(f"Cell {index + 1} is not a cell and was left out.")
    length = sum(len(cell.source) for cell in cells)
    if length > MOST_TEXT:
        raise Unreadable(
            f"The notebook has {length:,} characters in its cells, not counting outputs; at most "
            f"{MOST_TEXT:,} can be read. Perhaps data or output was pasted into a cell."
        )
    metadata = content.get("metadata")
    minor = content.get("nbformat_minor")
    return Document(
        tuple(cells),
        metadata if isinstance(metadata, dict) else {},
        minor if isinstance(minor, int) else 0,
        tuple(notes),
    )


def _cell(index: int, cell: dict) -> Cell:
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    metadata = cell.get("metadata")
    kind = cell.get("cell_type")
    return Cell(
        index,
        kind if kind in ("code", "markdown", "raw") else "markdown",
        clean_cell_text(source if isinstance(source, str) else ""),
        metadata if isinstance(metadata, dict) else {},
        cell.get("outputs"),
        cell.get("attachments"),
        clean_name(cell.get("id")),
    )


def _decode(original: bytes) -> str:
    if original.startswith((b"\xff\xfe", b"\xfe\xff")):
        return original.decode("utf-16", "replace")
    # without a mark at its start; a notebook begins with "{"
    for letter, encoding in ((b"{\0", "utf-16-le"), (b"\0{", "utf-16-be")):
        if original.startswith(letter):
            return original.decode(encoding, "replace")
    return original.decode("utf-8-sig", "replace")


def _not_json(text: str, error: Exception) -> str:
    start = text.lstrip()[:200].casefold()
    if start.startswith(("<!doctype", "<html")):
        return "The file is a web page, not a notebook. Download the notebook as .ipynb instead."
    if start.startswith("%pdf"):
        return "The file is a renamed PDF, not a notebook."
    if start.startswith("pk\x03\x04"):
        return "The file is a renamed zip, not a notebook."
    if "<<<<<<<" in text and ">>>>>>>" in text:
        return (
            "The file contains the conflict markers of an unfinished git merge, so it isn't JSON."
        )
    return f"The file is not JSON, so it isn't a notebook; perhaps it was cut short ({error})."
