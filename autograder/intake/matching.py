"""Finds the cells of the release in a student's notebook: by metadata, text or position."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

from autograder.intake.cells import Cell, Unreadable, read_document
from autograder.intake.places import Place, Release, Work

SIMILAR = 0.7


def likeness(original: bytes, release: Release) -> float:
    """The share of a release's answers that a file seems to contain; tells assignments apart."""
    try:
        document = read_document(original)
    except Unreadable:
        return 0.0
    marks = {cell.grade_id for cell in document.cells} | {i for c in document.cells for i in c.ids}
    marks.discard("")
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
            hit = hit or bool(place.own and place.own <= names)
        elif place.role == "given":
            hit = hit or place.text in texts
        found += weight * hit
    return found / total if total else 0.0


def match_by_marks(work: Work) -> None:
    """Match by nbgrader's grade_id first, then by the cell's id."""
    by_grade: dict[str, list[Cell]] = defaultdict(list)
    by_id: dict[str, list[Cell]] = defaultdict(list)
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
                # In some editors copied cells keep metadata.id; a given cell is needed only once.
                if owned and cell.text != place.text and place.role == "given":
                    continue
                work.claim(cell, place)
                if place.grade_id and not owned:
                    was = f"'{cell.grade_id}'" if cell.grade_id else "lost"
                    work.repairs.append(
                        f"{place.name}: its grade_id was {was}; the cell was found by its id."
                    )
                owned = True


def match_given_text(work: Work) -> None:
    """Find given cells without metadata by their text, and changed ones by similarity."""
    waiting = [p for p in work.release.places if p.role == "given" and not work.owned_by(p)]
    by_text: dict[str, list[Cell]] = defaultdict(list)
    for cell in reversed(work.free("code", "markdown", "raw")):
        by_text[cell.text].append(cell)
    for place in list(waiting):
        if place.text and by_text[place.text]:
            work.claim(by_text[place.text].pop(), place)
            waiting.remove(place)
    for place in waiting:
        best: Cell | None = None
        best_ratio = SIMILAR
        for cell in work.free(place.kind):
            ratio = work.likeness(cell.text, place.text, best_ratio)
            if ratio > best_ratio:
                best, best_ratio = cell, ratio
        if best is not None:
            work.claim(best, place)


def match_by_position(work: Work) -> None:
    """Take what is between known neighbours for a written answer without metadata."""
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
            chosen = [(cell, _most_alike(work, cell, places)) for cell in cells]
            work.flags.append(
                f"{len(cells)} text cells may answer {len(places)} questions "
                f"({', '.join(p.name for p in places)}). Check that each is in its place."
            )
        for cell, place in chosen:
            work.claim(cell, place)
        for place in {id(place): place for _, place in chosen}.values():
            work.repairs.append(f"{place.name}: the written answer was found by its position.")


def _most_alike(work: Work, cell: Cell, places: list[Place]) -> Place:
    return max(places, key=lambda place: work.likeness(cell.text, place.text))


def _gap(work: Work, place: Place) -> tuple[int, int]:
    """The student's cells between which a release cell belongs."""
    owner = work.owner
    before = max(((r, c) for c, r in owner.items() if r < place.index), default=None)
    after = min(((r, c) for c, r in owner.items() if r > place.index), default=None)
    end = len(work.document.cells)
    start = before[1] if before else -1
    stop = after[1] if after else end
    if stop < start:  # cells were moved: take what follows the one before
        claimed = sorted(owner)
        place_in = bisect_left(claimed, start) + 1
        stop = claimed[place_in] if place_in < len(claimed) else end
    return start, stop
