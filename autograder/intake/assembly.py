"""Puts the answers and the student's own cells into a copy of the release notebook."""

from __future__ import annotations

import copy
from collections import defaultdict

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from autograder.intake.code import read_code, without_magics
from autograder.intake.places import Loose, Place, Work, numbers
from autograder.intake.saved import pictures, saved_outputs


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
                cell["source"] = answers[place.index]
            cell["outputs"], cell["execution_count"] = [], None
        elif place.role == "written":
            answer = written[place.index]
            if answer is not None:
                cell["source"], attachments = answer
                if attachments:
                    cell["attachments"] = attachments
        elif place.kind == "code" and not place.cell.metadata.get("nbgrader", {}).get("grade"):
            owned = work.owned_by(place)
            outputs = saved_outputs(owned[-1].outputs) if owned else []
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
    """Helpers that answers use, and where they must run: before or after which answer."""
    readings = [place.reading for place in work.release.answers if place.reading]
    asked = frozenset(name for reading in readings for name in reading.makes)
    helpers = [
        part for part in loose if part.reading.only_helpers and not part.reading.makes & asked
    ]
    by_name: dict[str, list[Loose]] = defaultdict(list)
    for part in helpers:
        for name in part.reading.defines:
            by_name[name].append(part)
    before: dict[int, list[Loose]] = {}
    after: dict[int, list[Loose]] = {}
    done: dict[int, Loose] = {}
    for place in work.release.answers:
        source = answers[place.index]
        if source is not None:
            before[place.index], after[place.index] = _needed_by(
                place, source, helpers, by_name, done
            )
    if changed := [done[index] for index in sorted(done) if not done[index].given]:
        kept = numbers(changed)
        work.repairs.append(f"The student's own cells that answers use were kept: {kept}.")
    return list(done.values()), before, after


def _needed_by(
    place: Place,
    source: str,
    helpers: list[Loose],
    by_name: dict[str, list[Loose]],
    done: dict[int, Loose],
) -> tuple[list[Loose], list[Loose]]:
    """The helpers that run before and after one answer; each name is looked up once."""
    makes = place.reading.makes if place.reading else frozenset()
    after = [p for p in helpers if p.index not in done and p.reading.patches & makes]
    group = [p for p in helpers if p.index not in done and p.reading.star_import and p not in after]
    done.update({part.index: part for part in (*after, *group)})
    waiting = [
        *read_code(source).uses,
        *(n for part in (*after, *group) for n in part.reading.uses),
    ]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for part in by_name.get(name, ()):
            if part.index not in done:
                done[part.index] = part
                group.append(part)
                waiting += part.reading.uses
    return sorted(group, key=lambda part: part.index), after


def _carried_cell(part: Loose) -> NotebookNode:
    # Without `!pip` and the like: the box has no network, and waiting for one takes time.
    cell = new_code_cell(without_magics(part.source).strip("\n"))
    cell.metadata = NotebookNode(tags=["setup", "student"])
    return cell


def _extras(work: Work, carried: set[int]) -> dict[int, list[NotebookNode]]:
    """The student's own cells, kept for reading and never run, after the cell they followed."""
    found: dict[int, list[NotebookNode]] = defaultdict(list)
    last = -1
    for cell in work.document.cells:
        if cell.index in work.owner:
            last = work.owner[cell.index]
        elif cell.text and cell.index not in carried:
            if cell.kind == "code":
                kept = new_code_cell(cell.source)
                kept.outputs = saved_outputs(cell.outputs)
            else:
                kept = new_markdown_cell(cell.source)
                attachments = pictures(cell.attachments)
                if attachments:
                    kept.attachments = attachments
            kept.metadata = NotebookNode(tags=["student"])
            found[last].append(kept)
    return found
