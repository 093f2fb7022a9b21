"""Puts the answers and the student's own cells into a copy of the release notebook."""

from __future__ import annotations

import copy
from collections import defaultdict

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from autograder.intake.code import read_code, without_magics
from autograder.intake.harmless import (
    harmless_attachments,
    harmless_code,
    harmless_markdown,
    harmless_outputs,
)
from autograder.intake.places import Loose, Work, numbers


def assemble(
    work: Work,
    answers: dict[int, str | None],
    written: dict[int, tuple[str, NotebookNode | None] | None],
    loose: list[Loose],
) -> NotebookNode:
    release = work.release
    carried, before, after = _carried(work, answers, loose)
    extras = _extras(
        work, {part.cell.index for part in carried if part.cell.index not in work.owner}
    )
    cells, taken = [], {cell.get("id") for cell in release.notebook.cells}
    number = 0

    def own(cell: NotebookNode) -> NotebookNode:
        nonlocal number
        number += 1
        while f"student-{number}" in taken:
            number += 1
        cell["id"] = f"student-{number}"
        return cell

    cells += [own(cell) for cell in extras.get(-1, ())]
    for place in release.places:
        cells += [own(_carried_cell(part)) for part in before.get(place.index, ())]
        cell = copy.deepcopy(place.cell)
        if place.role == "answer":
            if answers[place.index] is not None:
                cell["source"] = harmless_code(answers[place.index])
            cell["outputs"], cell["execution_count"] = [], None
        elif place.role == "written":
            if written[place.index] is not None:
                cell["source"], attachments = written[place.index]
                if attachments:
                    cell["attachments"] = attachments
        elif place.kind == "code" and not place.cell.metadata.get("nbgrader", {}).get("grade"):
            owned = work.owned_by(place)
            outputs = harmless_outputs(owned[-1].outputs) if owned else []
            if outputs:
                cell["outputs"] = outputs
        cells.append(cell)
        cells += [own(_carried_cell(part)) for part in after.get(place.index, ())]
        cells += [own(cell) for cell in extras.get(place.index, ())]
    notebook = NotebookNode({**release.notebook, "cells": cells})
    notebook["metadata"] = copy.deepcopy(release.notebook.metadata)
    notebook["nbformat"], notebook["nbformat_minor"] = 4, 5
    return notebook


def _carried(
    work: Work, answers: dict[int, str | None], loose: list[Loose]
) -> tuple[list[Loose], dict[int, list[Loose]], dict[int, list[Loose]]]:
    """Helpers that answers use, and before or after which answer they must run."""
    asked = frozenset(n for place in work.release.answers for n in place.reading.makes)
    helpers = [
        part for part in loose if part.reading.only_helpers and not part.reading.makes & asked
    ]
    before, after, done = defaultdict(list), defaultdict(list), []
    for place in work.release.answers:
        source = answers[place.index]
        if source is None:
            continue
        needed, group = set(read_code(source).uses), []
        grown = True
        while grown:
            grown = False
            for part in helpers:
                reading = part.reading
                if part in done or part in group:
                    continue
                if reading.patches & place.reading.makes:
                    after[place.index].append(part)
                    done.append(part)
                elif not (reading.defines & needed or reading.star_import):
                    continue
                else:
                    group.append(part)
                needed |= reading.uses
                grown = True
        done += group
        before[place.index] = sorted(group, key=lambda part: part.index)
    if done:
        kept = numbers(sorted(done, key=lambda part: part.index))
        work.repairs.append(f"Cells of the student's own that answers use were kept: {kept}.")
    return done, before, after


def _carried_cell(part: Loose) -> NotebookNode:
    # Without `!pip` and the like: the box has no network, and waiting for it costs time.
    cell = new_code_cell(harmless_code(without_magics(part.source)).strip("\n"))
    cell.metadata = NotebookNode(tags=["setup", "student"])
    return cell


def _extras(work: Work, carried: set[int]) -> dict[int, list[NotebookNode]]:
    """Cells of the student's own, kept to be read and never run, after the cell they followed."""
    found, last = defaultdict(list), -1
    for cell in work.document.cells:
        if cell.index in work.owner:
            last = work.owner[cell.index]
        elif cell.text and cell.index not in carried:
            if cell.kind == "code":
                kept = new_code_cell(harmless_code(cell.source))
                kept.outputs = harmless_outputs(cell.outputs)
            else:
                kept = new_markdown_cell(harmless_markdown(cell.source))
                attachments = harmless_attachments(cell.attachments)
                if attachments:
                    kept.attachments = attachments
            kept.metadata = NotebookNode(tags=["student"])
            found[last].append(kept)
    return found
