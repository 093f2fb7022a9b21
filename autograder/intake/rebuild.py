"""Puts a student's answers into the release notebook, whatever happened to their own copy.

The student's notebook itself is never graded. Each answer is looked for by nbgrader's `grade_id`,
then by the cell's id (`metadata.id`, which Colab keeps), then by what the cell defines; written
answers also by their position. Everything else comes from the release.
"""

from __future__ import annotations

from nbformat import NotebookNode

from autograder.intake.answers import answer_in_code, loose_code, written_answer
from autograder.intake.assembly import assemble
from autograder.intake.cells import Cell, Unreadable, read_document
from autograder.intake.matching import match_by_marks, match_by_position, match_given_text
from autograder.intake.places import Place, Release, Work, is_untouched, listed, read_release
from autograder.intake.submission import Rebuilt
from autograder.intake.text import clean_name, sentences


def rebuild(original: bytes, release: NotebookNode) -> Rebuilt:
    """The release notebook with the answers of one handed-in file."""
    return rebuild_from(original, read_release(release))


def rebuild_from(original: bytes, release: Release) -> Rebuilt:
    """`rebuild`, for a release that has been read already."""
    try:
        document = read_document(original)
    except Unreadable as problem:
        return Rebuilt(None, (), (str(problem),))
    work = Work(release, document, repairs=list(document.notes))
    _note_origin(work)
    match_by_marks(work)
    match_given_text(work)
    match_by_position(work)
    loose = loose_code(work)
    answers = {place.index: answer_in_code(work, place, loose) for place in release.answers}
    written = {place.index: written_answer(work, place) for place in release.written}
    _note_order(work)
    _note_given(work)
    _note_strangers(work)
    if not any(cell.index in work.owner for cell in document.cells) and not any(
        text is not None for text in answers.values()
    ):
        return Rebuilt(
            None,
            sentences(work.repairs),
            (
                *sentences(work.flags),
                "No cell of this assignment was found; it looks like a different notebook.",
            ),
        )
    notebook = assemble(work, answers, written, loose)
    return Rebuilt(notebook, sentences(work.repairs), sentences(work.flags))


def _note_origin(work: Work) -> None:
    document, repairs = work.document, work.repairs
    if "colab" in document.metadata:
        repairs.append("The notebook was saved by Colab; cell ids and layout were restored.")
    elif document.minor < 5 and not any(cell.cell_id for cell in document.cells):
        repairs.append("The notebook has no cell ids (an older format); they were restored.")
    if not any(cell.nbgrader for cell in document.cells):
        repairs.append("The notebook had lost its nbgrader metadata, which was restored.")
    kernel = document.metadata.get("kernelspec")
    language = document.metadata.get("language_info")
    names = [
        clean_name(part.get(key, "python"))
        for part, key in ((kernel, "language"), (language, "name"), (kernel, "name"))
        if isinstance(part, dict)
    ]
    if any(not name.casefold().startswith(("python", "conda", "venv", "py")) for name in names):
        repairs.append(
            f"The notebook was set to another kernel ({names[-1]}); it was set back to Python."
        )


def _note_order(work: Work) -> None:
    order = []
    for cell in work.document.cells:
        place = work.owner.get(cell.index)
        if place is not None and place not in order:
            order.append(place)
    if order != sorted(order):
        work.repairs.append("Cells had been moved; they are back in the release's order.")


def _note_given(work: Work) -> None:
    """Note changed, copied and deleted cells that contain no answer."""
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
        work.repairs.append(f"Missing cells, restored: {listed(gone)}.")
    if changed:
        work.repairs.append(f"Changed locked cells, restored: {listed(changed)}.")
    if copied:
        work.repairs.append(f"Duplicated cells, kept once: {listed(copied)}.")


def _note_strangers(work: Work) -> None:
    """Note answers to exercises that this release doesn't have, for example from an older one."""
    known = {place.grade_id for place in work.release.places}
    for cell in work.document.cells:
        if cell.grade_id and cell.grade_id not in known and cell.index not in work.owner:
            work.repairs.append(
                f"'{cell.grade_id}' is not in this release (perhaps in an older one); its cell was "
                "kept but not graded."
            )
            solution = cell.nbgrader.get("solution")
            if solution and not _is_own_text(cell):
                work.flags.append(
                    f"'{cell.grade_id}' was answered, but this release has no such exercise."
                )


def _is_own_text(cell: Cell) -> bool:
    return is_untouched(
        cell, Place(0, NotebookNode(metadata={}), "given", cell.kind, "", "", (), None)
    )
