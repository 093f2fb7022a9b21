"""Decides what the answer to each exercise is, and flags when a person must decide."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from nbformat import NotebookNode

from autograder.intake.cells import Cell, tidy
from autograder.intake.code import (
    callable_from,
    kind_of,
    new_statements,
    read_code,
    rename_in,
    without_definitions,
)
from autograder.intake.places import (
    Loose,
    Place,
    Work,
    is_retagged,
    is_untouched,
    listed,
    numbers,
)
from autograder.intake.saved import pictures


def loose_code(work: Work) -> list[Loose]:
    """Code outside the answer cells that answers may use.

    These are the cells that a student added, what they added to given cells, and the functions that
    given cells define: the notebook's check finds those too. A part that a student brought from an
    earlier notebook is left out, because checks use the course's own instead.
    """
    found = []
    brought = _brought(work)
    for cell in work.document.cells:
        place = work.release.places[work.owner[cell.index]] if cell.index in work.owner else None
        useful, given = "", False
        if place is None and cell.text and (cell.kind == "code" or _looks_like_code(cell)):
            useful = cell.source
        elif place is not None and place.role == "given" and place.kind == cell.kind == "code":
            given = cell.text == place.text
            if not _is_run(place):
                useful = callable_from(cell.source, place.text)
            elif not given:
                useful = new_statements(cell.source, place.text)
        if brought:
            useful = without_definitions(useful, brought)
        if useful:
            found.append(Loose(cell.index, useful, cell, given))
    return found


def _brought(work: Work) -> frozenset[str]:
    """The parts that students may bring into this notebook."""
    calls = (c.source for c in work.release.notebook.cells if "bring_your_own(" in c.source)
    return frozenset(name for source in calls for name in re.findall(r'"(\w+)"', source))


def _is_run(place: Place) -> bool:
    return "setup" in place.cell.metadata.get("tags", [])


def _looks_like_code(cell: Cell) -> bool:
    return (
        cell.kind != "code"
        and cell.reading.parsed
        and cell.reading.only_helpers
        and bool(cell.reading.defines)
    )


def answer_in_code(work: Work, place: Place, loose: list[Loose]) -> str | None:
    """The source of one answer, or None if nothing was handed in for it."""
    owned = work.owned_by(place)
    changed = [cell for cell in owned if not is_untouched(cell, place)]
    different = list({cell.text: cell for cell in changed}.values())
    if len(owned) > 1:
        work.repairs.append(f"{place.name}: the notebook had the answer cell {len(owned)} times.")
    if any(cell.kind != "code" for cell in changed):
        work.repairs.append(
            f"{place.name}: the answer was in a text cell, which was turned back into code."
        )
    if any(is_retagged(cell, place) for cell in owned):
        work.repairs.append(
            f"{place.name}: its nbgrader metadata was changed; the release's is used."
        )
    wanted = place.own
    elsewhere = [part for part in loose if part.reading.defines & wanted and not part.given]
    parts = [(cell.index, cell.source) for cell in different]
    if len(different) > 1:
        if _complete_each_other(different, wanted):
            work.repairs.append(
                f"{place.name}: the answer was split over several cells, which were joined."
            )
        else:
            work.flags.append(
                f"{place.name}: the notebook has {len(different)} different answers "
                f"({numbers(different)}). The last one is graded; decide which one counts."
            )
            parts = parts[-1:]
    have = set().union(*[read_code(source).defines for _, source in parts], set())
    missing = wanted - have
    useful = [part for part in elsewhere if part.reading.defines & missing]
    if useful:
        parts = sorted(parts + _take(work, place, useful, bool(parts)))
    elif elsewhere and parts and have & wanted:
        mine = {tidy(source) for _, source in parts}
        rivals = [part for part in elsewhere if tidy(part.source) not in mine]
        if rivals:
            work.flags.append(
                f"{place.name}: another definition of "
                f"{listed(rivals[0].reading.defines & wanted)} is in {numbers(rivals)}, and it "
                "differs. The answer cell is graded; decide which one counts."
            )
    if not parts:
        if not owned:
            work.repairs.append(
                f"{place.name}: the answer cell was missing; the empty one was put back."
            )
        return None
    used = {index for index, _ in parts}
    for part in elsewhere:
        if part.index in used and part.index not in work.owner:
            work.claim(part.cell, place)
    source = "\n\n\n".join(source.strip("\n") for _, source in parts)
    return _with_old_name(work, place, source)


def _take(work: Work, place: Place, useful: list[Loose], has_part: bool) -> list[tuple[int, str]]:
    """Answers written outside the answer cell: all of them if they complement each other."""
    distinct = list({tidy(part.source): part for part in useful}.values())
    if len(distinct) > 1 and not _complete_each_other(distinct, place.own):
        work.flags.append(
            f"{place.name}: {numbers(distinct)} answer it differently. The last one is "
            "graded; decide which one counts."
        )
        distinct = distinct[-1:]
    if has_part or len(distinct) > 1:
        work.repairs.append(
            f"{place.name}: the answer was split over several cells, which were joined."
        )
    else:
        names = listed(distinct[0].reading.defines & place.own)
        work.repairs.append(f"{place.name}: the answer was in another cell, which defines {names}.")
    if any(part.cell.kind != "code" for part in distinct):
        work.repairs.append(
            f"{place.name}: the answer was in a text cell, which was turned back into code."
        )
    return [(part.index, part.source) for part in distinct]


def _complete_each_other(parts: list[Cell] | list[Loose], wanted: frozenset[str]) -> bool:
    """True if no two parts define the same wanted name and every part defines something."""
    seen: set[str] = set()
    for part in parts:
        mine = part.reading.defines & wanted
        if not part.reading.parsed or not part.reading.defines or mine & seen:
            return False
        seen |= mine
    return bool(seen)


def _with_old_name(work: Work, place: Place, source: str) -> str:
    """Give a renamed class or function its old name back, beside the new one."""
    reading = read_code(source)
    missing = (place.reading.makes if place.reading else frozenset()) - reading.defines
    if not reading.parsed or len(missing) != 1:
        return source
    (name,) = missing
    kind = kind_of(place.cell.source, name)
    renamed = rename_in(source, name, kind) if kind != "variable" else None
    if renamed is None or not _alike(renamed, name):
        return source
    work.repairs.append(f"{place.name}: {name} was called {renamed}; both names work now.")
    return f"{source}\n\n{name} = {renamed}"


def _alike(a: str, b: str) -> bool:
    """Whether one name may be a misspelling of the other, going by their short differences."""
    a, b = a.casefold()[:100], b.casefold()[:100]
    return SequenceMatcher(None, a, b, autojunk=False).ratio() >= 0.6


def written_answer(work: Work, place: Place) -> tuple[str, NotebookNode | None] | None:
    """The text of one written answer and its pictures, or None if nothing was written."""
    owned = work.owned_by(place)
    changed = [cell for cell in owned if not is_untouched(cell, place)]
    different = list({cell.text: cell for cell in changed}.values())
    if any(cell.kind == "code" for cell in changed):
        work.repairs.append(
            f"{place.name}: the written answer was in a code cell, which was turned back into text."
        )
    if any(is_retagged(cell, place) for cell in owned):
        work.repairs.append(
            f"{place.name}: its nbgrader metadata was changed; the release's is used."
        )
    below = _text_below(work, owned)
    if below:
        work.repairs.append(f"{place.name}: text in cells below it was added to the answer.")
    same_id = [cell for cell in different if cell.grade_id == place.grade_id]
    if len(same_id) > 1:
        work.flags.append(
            f"{place.name}: the notebook has {len(same_id)} different written answers. All are "
            "shown; decide which one counts."
        )
    parts = different + below
    if not parts:
        added = _written_above(work, place)
        if added:
            work.repairs.append(f"{place.name}: the answer was in the question's cell.")
            return added, None
        if not owned:
            work.repairs.append(f"{place.name}: the cell for the written answer was missing.")
        return None
    for cell in below:
        work.claim(cell, place)
    attachments = NotebookNode()
    for cell in parts:
        attachments.update(pictures(cell.attachments))
    text = "\n\n".join(cell.source.strip("\n") for cell in parts)
    return text, attachments or None


def _text_below(work: Work, owned: list[Cell]) -> list[Cell]:
    """Text cells that students added directly below the answer's own cell."""
    if not owned:
        return []
    found = []
    for cell in work.document.cells:
        if cell.index <= owned[-1].index:
            continue
        if cell.index in work.owner or cell.kind == "code":
            break
        if cell.text:
            found.append(cell)
    return found


def _written_above(work: Work, place: Place) -> str:
    """What a student added to the question's cell, if the answer's own is empty."""
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
