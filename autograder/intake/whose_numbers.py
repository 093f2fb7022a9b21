"""Whose numbers a student worked with: compares the id in the notebook with the gradebook's.

If every student has their own numbers, these are drawn from an id that the student types into a
cell. Answers are always judged by the gradebook's id, and a person is told if the notebook has a
different one. The cell is read, never run.
"""

from __future__ import annotations

import ast

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder.intake.cells import Document
from autograder.intake.code import parse
from autograder.intake.places import Place, Release
from autograder.intake.text import clean_name
from course_utils.by_hand import practice

NAME = "student_id"
SHOWN = 60


def doubts_about_numbers(document: Document, release: Release, student: str) -> list[str]:
    """A sentence for a person if the notebook's numbers may not be this student's."""
    if not places_of_id(release):
        return []
    typed = typed_id(document, release)
    by = f"It is graded with the numbers of {student}, the id in the gradebook."
    if typed is None:
        return [f"The notebook does not show whose numbers it uses ({NAME} is not a text). {by}"]
    if not practice.plain_id(typed):
        return [f"{NAME} was left empty, so the numbers shown were not the student's own. {by}"]
    if practice.plain_id(typed) != practice.plain_id(student):
        return [f"The notebook was solved with another {NAME}, {typed[:SHOWN]!r}. {by}"]
    return []


def carry_typed_id(notebook: NotebookNode, document: Document, release: Release) -> None:
    """Put the id into the rebuilt notebook, so that the judge knows whose numbers to expect."""
    places = places_of_id(release)
    typed = typed_id(document, release) if places else None
    if not typed:
        return
    marks = set(places[0].ids)
    after = next((i for i, c in enumerate(notebook.cells) if c.metadata.get("id") in marks), 0)
    cell = new_code_cell(f"{NAME} = {typed!r}", id="student-id")
    cell.metadata = NotebookNode(tags=["setup", "student"])
    notebook.cells.insert(after + 1, cell)


def places_of_id(release: Release) -> list[Place]:
    """The cell in which a release asks for the id; none if all students have the same numbers."""
    if not practice.own_numbers():
        return []
    return [place for place in release.places if place.reading and NAME in place.reading.makes]


def typed_id(document: Document, release: Release) -> str | None:
    """The id that the notebook's own cell sets, or else the last cell that sets it."""
    marks = {mark for place in places_of_id(release) for mark in place.ids}
    found = [
        (bool(marks & set(cell.ids)), text)
        for cell in document.cells
        if cell.kind == "code" and (text := assigned_text(cell.source)) is not None
    ]
    known = [text for marked, text in found if marked]
    every = known or [text for _, text in found]
    return every[-1] if every else None


def assigned_text(source: str) -> str | None:
    """The text (or number) that a cell assigns to the name, exactly as written."""
    tree, found = parse(source), None
    for node in tree.body if tree is not None else ():
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(isinstance(target, ast.Name) and target.id == NAME for target in targets):
            value = node.value
            found = _text_of(value.value) if isinstance(value, ast.Constant) else None
    return found


def _text_of(value: object) -> str | None:
    if isinstance(value, int) and abs(value) < 10**40:
        return str(value)
    return clean_name(value) if isinstance(value, str) else None
