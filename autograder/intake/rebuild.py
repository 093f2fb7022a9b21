"""Puts a student's answers into the release notebook, whatever happened to their own copy.

The student's notebook itself is never graded. Each answer is looked for by nbgrader's `grade_id`,
then by the cell's id (`metadata.id`, which Colab keeps), then by what the cell defines; written
answers also by where they stand. Everything else comes from the release.
"""

from __future__ import annotations

import copy
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.utils import compute_checksum

from autograder.intake.cells import Cell, Document, Unreadable, read_document, tidy
from autograder.intake.code import (
    Reading,
    kind_of,
    new_statements,
    read_code,
    rename_in,
    without_magics,
)
from autograder.intake.harmless import (
    harmless_attachments,
    harmless_code,
    harmless_markdown,
    harmless_outputs,
)
from autograder.intake.submission import Rebuilt

SIMILAR = 0.8


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


def rebuild(original: bytes, release: NotebookNode) -> Rebuilt:
    """The release notebook with the answers of one handed-in file."""
    return rebuild_from(original, read_release(release))


def read_release(notebook: NotebookNode) -> Release:
    """Reads a release notebook once, for many rebuildings."""
    places = []
    for index, cell in enumerate(notebook.cells):
        marks = cell.metadata.get("nbgrader", {})
        solution = bool(marks.get("solution"))
        code = cell.cell_type == "code"
        role = ("answer" if code else "written") if solution else "given"
        ids = tuple(filter(None, (cell.metadata.get("id"), cell.get("id"))))
        places.append(
            Place(
                index,
                cell,
                role,
                cell.cell_type,
                tidy(cell.source),
                marks.get("grade_id", ""),
                ids,
                read_code(cell.source) if code else None,
            )
        )
    return Release(notebook, tuple(places))


def rebuild_from(original: bytes, release: Release) -> Rebuilt:
    """`rebuild` for a release that was read before."""
    try:
        document = read_document(original)
    except Unreadable as problem:
        return Rebuilt(None, (), (str(problem),))
    work = Work(release, document, repairs=list(document.notes))
    _note_origin(work)
    _match_by_marks(work)
    _match_given_text(work)
    _match_by_position(work)
    loose = _loose_code(work)
    answers = {place.index: _answer(work, place, loose) for place in release.answers}
    written = {place.index: _written(work, place) for place in release.written}
    _note_order(work)
    _note_given(work)
    _note_strangers(work)
    if not any(cell.index in work.owner for cell in document.cells) and not any(
        text is not None for text in answers.values()
    ):
        return Rebuilt(
            None,
            tuple(work.repairs),
            (*work.flags, "No cell of this assignment was found: it looks like another notebook."),
        )
    notebook = _assemble(work, answers, written, loose)
    return Rebuilt(notebook, tuple(dict.fromkeys(work.repairs)), tuple(dict.fromkeys(work.flags)))


def likeness(original: bytes, release: Release) -> float:
    """The share of a release's answers that a file seems to hold; tells assignments apart."""
    try:
        document = read_document(original)
    except Unreadable:
        return 0.0
    marks = {cell.grade_id for cell in document.cells} | {i for c in document.cells for i in c.ids}
    names = {n for c in document.cells if c.kind == "code" for n in c.reading.defines}
    texts = {cell.text for cell in document.cells if cell.text}
    found = total = 0
    for place in release.places:
        if place.role == "given" and len(place.text) < 40:
            continue
        weight = 1 if place.role == "given" else 3
        total += weight
        hit = place.grade_id in marks or bool(set(place.ids) & marks)
        if place.role == "answer":
            hit = hit or bool(place.reading.defines and place.reading.defines <= names)
        elif place.role == "given":
            hit = hit or place.text in texts
        found += weight * hit
    return found / total if total else 0.0


# Matching -----------------------------------------------------------------------------------


def _match_by_marks(work: Work) -> None:
    """First nbgrader's grade_id, then the cell's id."""
    by_grade, by_id = defaultdict(list), defaultdict(list)
    for cell in work.document.cells:
        if cell.grade_id:
            by_grade[cell.grade_id].append(cell)
        for text in cell.ids:
            by_id[text].append(cell)
    for place in work.release.places:
        for cell in by_grade.get(place.grade_id, ()) if place.grade_id else ():
            work.claim(cell, place)
    for place in work.release.places:
        owned = bool(work.owned_by(place))
        for text in place.ids:
            for cell in by_id.get(text, ()):
                if cell.index in work.owner:
                    continue
                # Copied cells keep metadata.id in some editors; a given cell is needed once.
                if owned and cell.text != place.text and place.role == "given":
                    continue
                work.claim(cell, place)
                if place.grade_id and not owned:
                    was = f"'{cell.grade_id}'" if cell.grade_id else "lost"
                    work.repairs.append(
                        f"{place.name}: its grade_id was {was}; the cell was found by its id."
                    )
                owned = True


def _match_given_text(work: Work) -> None:
    """Given cells without marks are found by their text, changed ones by likeness."""
    waiting = [p for p in work.release.places if p.role == "given" and not work.owned_by(p)]
    by_text = defaultdict(list)
    for cell in work.free("code", "markdown", "raw"):
        by_text[cell.text].append(cell)
    for place in list(waiting):
        if place.text and by_text[place.text]:
            work.claim(by_text[place.text].pop(0), place)
            waiting.remove(place)
    for place in waiting:
        best, best_ratio = None, SIMILAR
        for cell in work.free(place.kind):
            ratio = _ratio(cell.text, place.text, best_ratio)
            if ratio > best_ratio:
                best, best_ratio = cell, ratio
        if best is not None:
            work.claim(best, place)


def _match_by_position(work: Work) -> None:
    """Written answers without marks are what stands between their known neighbours."""
    waiting = [place for place in work.release.written if not work.owned_by(place)]
    groups: dict[tuple[int, int], list[Place]] = defaultdict(list)
    for place in waiting:
        groups[_gap(work, place)].append(place)
    for (start, stop), places in groups.items():
        cells = [
            cell for cell in work.free("markdown", "raw") if start < cell.index < stop and cell.text
        ]
        if not cells:
            continue
        if len(places) == 1:
            chosen = [(cell, places[0]) for cell in cells]
        elif len(cells) == len(places):
            chosen = list(zip(cells, places, strict=True))
        else:
            chosen = [(c, max(places, key=lambda p, c=c: _ratio(c.text, p.text))) for c in cells]
            work.flags.append(
                f"{len(cells)} text cells may answer {len(places)} questions "
                f"({', '.join(p.name for p in places)}): look whether each stands in its place."
            )
        for cell, place in chosen:
            work.claim(cell, place)
        for place in {id(place): place for _, place in chosen}.values():
            work.repairs.append(f"{place.name}: the written answer was found by its position.")


def _gap(work: Work, place: Place) -> tuple[int, int]:
    """The student's cells between which a release cell would stand."""
    owner = work.owner
    before = max(((r, c) for c, r in owner.items() if r < place.index), default=None)
    after = min(((r, c) for c, r in owner.items() if r > place.index), default=None)
    end = len(work.document.cells)
    start = before[1] if before else -1
    stop = after[1] if after else end
    if stop < start:  # the cells were moved about: take what follows the one before
        claimed = sorted(owner)
        place_in = bisect_left(claimed, start) + 1
        stop = claimed[place_in] if place_in < len(claimed) else end
    return start, stop


def _ratio(a: str, b: str, floor: float = 0.0) -> float:
    if not a or not b or len(a) > 20_000 or len(b) > 20_000:
        return 0.0
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if floor and (matcher.real_quick_ratio() < floor or matcher.quick_ratio() < floor):
        return 0.0
    return matcher.ratio()


# Answers in code ----------------------------------------------------------------------------


def _loose_code(work: Work) -> list[Loose]:
    """Code of the student's own: free cells, and what they added to given cells."""
    found = []
    for cell in work.document.cells:
        place = work.release.places[work.owner[cell.index]] if cell.index in work.owner else None
        if place is None and cell.text and (cell.kind == "code" or _looks_like_code(cell)):
            found.append(Loose(cell.index, cell.source, cell))
        elif place is not None and place.role == "given" and cell.text != place.text:
            added = new_statements(cell.source, place.text) if cell.kind == "code" else ""
            if added and place.kind == "code":
                found.append(Loose(cell.index, added, cell))
    return found


def _looks_like_code(cell: Cell) -> bool:
    return (
        cell.kind != "code"
        and cell.reading.parsed
        and cell.reading.only_helpers
        and bool(cell.reading.defines)
    )


def _answer(work: Work, place: Place, loose: list[Loose]) -> str | None:
    """The source of one answer, or None when nothing was handed in for it."""
    owned = work.owned_by(place)
    changed = [cell for cell in owned if not _is_untouched(cell, place)]
    different = list({cell.text: cell for cell in changed}.values())
    if len(owned) > 1:
        work.repairs.append(f"{place.name}: the answer cell was there {len(owned)} times.")
    if any(cell.kind != "code" for cell in changed):
        work.repairs.append(f"{place.name}: the answer was a text cell; it is code again.")
    if any(_is_retagged(cell, place) for cell in owned):
        work.repairs.append(f"{place.name}: its nbgrader marks were changed; the release's stand.")
    wanted = place.reading.defines
    elsewhere = [part for part in loose if part.reading.defines & wanted]
    parts = [(cell.index, cell.source) for cell in different]
    if len(different) > 1:
        if _complete_each_other(different, wanted):
            work.repairs.append(f"{place.name}: the answer was split; the parts were put together.")
        else:
            work.flags.append(
                f"{place.name}: the notebook holds {len(different)} different answers "
                f"(cells {_numbers(different)}). The last one is graded; decide which one counts."
            )
            parts = parts[-1:]
    have = set().union(*[read_code(source).defines for _, source in parts], set())
    missing = wanted - have
    useful = [part for part in elsewhere if part.reading.defines & missing]
    if useful:
        parts = sorted(parts + _take(work, place, useful, bool(parts)))
    elif elsewhere and parts and have & wanted:
        rivals = [p for p in elsewhere if tidy(p.source) not in {tidy(s) for _, s in parts}]
        if rivals:
            work.flags.append(
                f"{place.name}: another cell (number {_numbers(rivals)}) defines "
                f"{_listed(rivals[0].reading.defines & wanted)} too, differently. The answer cell "
                "is graded; decide which one counts."
            )
    if not parts:
        if not owned:
            work.repairs.append(
                f"{place.name}: the answer cell isn't there; the release's empty one is."
            )
        return None
    used = {index for index, _ in parts}
    for part in elsewhere:
        if part.index in used and part.index not in work.owner:
            work.claim(part.cell, place)
    source = "\n\n\n".join(source.strip("\n") for _, source in parts)
    return _with_old_name(work, place, source)


def _take(work: Work, place: Place, useful: list[Loose], has_part: bool) -> list[tuple[int, str]]:
    """Answers written outside the answer cell: all of them when they complete each other."""
    distinct = list({tidy(part.source): part for part in useful}.values())
    if len(distinct) > 1 and not _complete_each_other(distinct, place.reading.defines):
        work.flags.append(
            f"{place.name}: cells {_numbers(distinct)} answer it differently. The last one is "
            "graded; decide which one counts."
        )
        distinct = distinct[-1:]
    if has_part or len(distinct) > 1:
        work.repairs.append(f"{place.name}: the answer was split; the parts were put together.")
    else:
        names = _listed(distinct[0].reading.defines & place.reading.defines)
        work.repairs.append(
            f"{place.name}: the answer stood in another cell, which defines {names}."
        )
    if any(part.cell.kind != "code" for part in distinct):
        work.repairs.append(f"{place.name}: the answer was a text cell; it is code again.")
    return [(part.index, part.source) for part in distinct]


def _complete_each_other(parts: list[Cell] | list[Loose], wanted: frozenset[str]) -> bool:
    """True when no two parts define the same wanted name and all define something."""
    seen: set[str] = set()
    for part in parts:
        mine = part.reading.defines & wanted
        if not part.reading.parsed or not part.reading.defines or mine & seen:
            return False
        seen |= mine
    return bool(seen)


def _with_old_name(work: Work, place: Place, source: str) -> str:
    """A class or function that was renamed gets its name back beside the new one."""
    reading = read_code(source)
    missing = place.reading.defines - reading.defines
    if not reading.parsed or len(missing) != 1:
        return source
    (name,) = missing
    kind = kind_of(place.cell.source, name)
    renamed = rename_in(source, name, kind) if kind != "variable" else None
    if renamed is None or _ratio(renamed.casefold(), name.casefold()) < 0.6:
        return source
    work.repairs.append(f"{place.name}: {name} was called {renamed}; both names work now.")
    return f"{source}\n\n{name} = {renamed}"


def _is_untouched(cell: Cell, place: Place) -> bool:
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


def _is_retagged(cell: Cell, place: Place) -> bool:
    marks = place.cell.metadata.get("nbgrader", {})
    keys = ("grade", "solution", "locked", "points", "schema_version", "task")
    return bool(cell.nbgrader) and any(
        key in cell.nbgrader and cell.nbgrader[key] != marks.get(key, cell.nbgrader[key])
        for key in keys
    )


# Written answers ----------------------------------------------------------------------------


def _written(work: Work, place: Place) -> tuple[str, NotebookNode | None] | None:
    """The text of one written answer and its pictures, or None when nothing was written."""
    owned = work.owned_by(place)
    changed = [cell for cell in owned if not _is_untouched(cell, place)]
    different = list({cell.text: cell for cell in changed}.values())
    if any(cell.kind == "code" for cell in changed):
        work.repairs.append(f"{place.name}: the written answer was a code cell; it is text again.")
    if any(_is_retagged(cell, place) for cell in owned):
        work.repairs.append(f"{place.name}: its nbgrader marks were changed; the release's stand.")
    below = _text_below(work, owned)
    if below:
        work.repairs.append(
            f"{place.name}: text written in cells below it was put with the answer."
        )
    same_id = [cell for cell in different if cell.grade_id == place.grade_id]
    if len(same_id) > 1:
        work.flags.append(
            f"{place.name}: the notebook holds {len(same_id)} different written answers; all are "
            "shown, decide which one counts."
        )
    parts = different + below
    if not parts:
        added = _written_above(work, place)
        if added:
            work.repairs.append(f"{place.name}: the answer stood in the question's cell.")
            return harmless_markdown(added), None
        if not owned:
            work.repairs.append(f"{place.name}: the cell for the written answer isn't there.")
        return None
    for cell in below:
        work.claim(cell, place)
    attachments = NotebookNode()
    for cell in parts:
        attachments.update(harmless_attachments(cell.attachments) or {})
    text = "\n\n".join(cell.source.strip("\n") for cell in parts)
    return harmless_markdown(text), attachments or None


def _text_below(work: Work, owned: list[Cell]) -> list[Cell]:
    """Free text cells directly under the answer's: people press 'add text' and write there."""
    if not owned:
        return []
    found = []
    for cell in work.document.cells[owned[-1].index + 1 :]:
        if cell.index in work.owner or cell.kind == "code":
            break
        if cell.text:
            found.append(cell)
    return found


def _written_above(work: Work, place: Place) -> str:
    """What a student added to the question's own cell, if the answer's is empty."""
    above = next(
        (p for p in reversed(work.release.places[: place.index]) if p.kind == "markdown"), None
    )
    if above is None or above.role != "given" or above.index != place.index - 1:
        return ""
    for cell in work.owned_by(above):
        if cell.text != above.text:
            known = set(above.text.split("\n"))
            return "\n".join(line for line in cell.text.split("\n") if line not in known).strip()
    return ""


# What to tell -------------------------------------------------------------------------------


def _note_origin(work: Work) -> None:
    document, repairs = work.document, work.repairs
    if "colab" in document.metadata:
        repairs.append("The notebook was saved by Colab; cell ids and layout were restored.")
    elif document.minor < 5 and not any(cell.cell_id for cell in document.cells):
        repairs.append("The notebook has no cell ids (an older format); they were restored.")
    if not any(cell.nbgrader for cell in document.cells):
        repairs.append("The notebook lost its nbgrader marks; they were restored.")
    kernel = document.metadata.get("kernelspec")
    language = document.metadata.get("language_info")
    names = [
        str(part.get(key, "python"))
        for part, key in ((kernel, "language"), (language, "name"), (kernel, "name"))
        if isinstance(part, dict)
    ]
    if any(not name.casefold().startswith(("python", "conda", "venv", "py")) for name in names):
        repairs.append(f"The notebook was set to another kernel ({names[-1]}); Python is restored.")


def _note_order(work: Work) -> None:
    order = []
    for cell in work.document.cells:
        place = work.owner.get(cell.index)
        if place is not None and place not in order:
            order.append(place)
    if order != sorted(order):
        work.repairs.append("Cells were moved; they are in the release's order again.")


def _note_given(work: Work) -> None:
    """Changed, copied and deleted cells that nobody has to answer."""
    changed, copied, gone = [], [], []
    for place in work.release.places:
        if place.role != "given" or not place.text:
            continue
        owned = work.owned_by(place)
        if len(owned) > 1:
            copied.append(place.name)
        graded = bool(place.grade_id)
        if not owned:
            gone.append(place.name)
        elif graded and any(cell.text != place.text for cell in owned):
            changed.append(place.name)
    if gone:
        work.repairs.append(f"Cells not in the notebook, restored: {_listed(gone)}.")
    if changed:
        work.repairs.append(f"Locked cells changed, restored: {_listed(changed)}.")
    if copied:
        work.repairs.append(f"Cells there more than once, kept once: {_listed(copied)}.")


def _note_strangers(work: Work) -> None:
    """Answers to exercises that this release doesn't have, as from an older one."""
    known = {place.grade_id for place in work.release.places}
    for cell in work.document.cells:
        if cell.grade_id and cell.grade_id not in known and cell.index not in work.owner:
            work.repairs.append(
                f"'{cell.grade_id}' is not in this release (an older one, perhaps); its cell is "
                "kept, not graded."
            )
            solution = cell.nbgrader.get("solution")
            if solution and not _is_own_text(cell):
                work.flags.append(
                    f"'{cell.grade_id}' was answered, but this release has no such exercise."
                )


def _is_own_text(cell: Cell) -> bool:
    return _is_untouched(
        cell, Place(0, NotebookNode(metadata={}), "given", cell.kind, "", "", (), None)
    )


def _numbers(parts: list[Cell] | list[Loose]) -> str:
    return ", ".join(str(part.index + 1) for part in parts)


def _listed(names: object, most: int = 6) -> str:
    names = sorted(names) if isinstance(names, set | frozenset) else list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


# Putting it together ------------------------------------------------------------------------


def _assemble(
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
                cell.metadata["student_output"] = True
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
    asked = frozenset(n for place in work.release.answers for n in place.reading.defines)
    helpers = [
        part for part in loose if part.reading.only_helpers and not part.reading.defines & asked
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
                if reading.patches & place.reading.defines:
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
        kept = _numbers(sorted(done, key=lambda part: part.index))
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
