"""Trees of files that no student means well, or that an honest one's system made odd.

One class with all of them: everybody is graded or flagged, has a page, and nobody honest loses.
"""

import gzip
import io
import json
import os
import shutil
import socket
import tempfile
import zipfile
from pathlib import Path

import pytest

from autograder.box import Limits, why_unavailable
from autograder.instructor.course import open_course
from autograder.instructor.feedback import write_feedback
from autograder.intake import find_files
from autograder.whole_class.grade_class import Options, grade_class
from tests.grading.handing_in import (
    ASSIGNMENT,
    EXERCISE,
    NO_TANH,
    NOTHING,
    RIGHT,
    cell_of,
    submission,
)

FILE = f"{ASSIGNMENT}.ipynb"
needs_box = pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces")
LIMITS = Limits(wall_seconds=12, cpu_seconds=4, together_seconds=20)


def text_of(notebook) -> str:
    return json.dumps(notebook, ensure_ascii=False)


def zipped(contents: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return stream.getvalue()


def changed(change, answer: str = RIGHT) -> bytes:
    notebook = submission(answer)
    change(notebook)
    return text_of(notebook).encode()


# ---- odd, and honest: full points


def in_letters(notebook):
    """Each letter of every source is a string of its own, as the format allows."""
    for cell in notebook.cells:
        cell.source = list(cell.source)


def among_empty_strings(notebook):
    cell = cell_of(notebook, EXERCISE)
    cell.source = [""] * 500_000 + [cell.source] + [""] * 500_000


def deep_metadata(notebook):
    inner: dict = {}
    for _ in range(400):
        inner = {"a": inner}
    notebook.metadata["deep"] = inner
    cell_of(notebook, EXERCISE).metadata["deep"] = inner


def windows_ends(notebook):
    for cell in notebook.cells:
        cell.source = cell.source.replace("\n", "\r\n")


def old_mac_ends(notebook):
    for cell in notebook.cells:
        cell.source = cell.source.replace("\n", "\r")


def numbers_that_are_none(notebook):
    notebook.metadata["widgets"] = {"a": float("nan"), "b": float("inf"), "c": 10**400}


GOOD = text_of(submission(RIGHT))
HONEST = {
    "in_letters": changed(in_letters),
    "among_empty_strings": changed(among_empty_strings),
    "deep_metadata": changed(deep_metadata),
    "windows_ends": changed(windows_ends).replace(b"\n", b"\r\n"),
    "old_mac_ends": changed(old_mac_ends),
    "utf16": GOOD.encode("utf-16"),
    "utf16_big": b"\xfe\xff" + GOOD.encode("utf-16-be"),
    "utf16_without_mark": GOOD.encode("utf-16-le"),
    "utf8_with_mark": GOOD.encode("utf-8-sig"),
    "numbers_that_are_none": changed(numbers_that_are_none),
    "names_twice": b'{"cells": [], ' + GOOD.encode()[1:],
    "\u202egnp.ecila": GOOD.encode(),
    "$(touch pwned)": GOOD.encode(),
    "--help": GOOD.encode(),
    "CON": GOOD.encode(),
    "a'b\"c;d&e|f": GOOD.encode(),
}

# ---- and not


def cells(count):
    def change(notebook):
        empty = {"cell_type": "code", "metadata": {}, "outputs": [], "source": ""}
        notebook["cells"] = [*notebook.cells, *([empty] * count)]

    return change


def deep_outputs(notebook):
    cell_of(notebook, EXERCISE)["outputs"] = json.loads("[" * 400 + "]" * 400)


WITHOUT_POINTS = {
    "cells_100000": {FILE: changed(cells(100_000), NOTHING)},
    "deep_outputs": {FILE: changed(deep_outputs, NOTHING)},
    "nested_50000": {FILE: b'{"cells": [{"metadata": ' + b'{"a":' * 50_000},
    "zip_in_zip_in_zip": {
        "hw.zip": zipped({"a.zip": zipped({"b.zip": zipped({FILE: GOOD.encode()})})})
    },
    "zip_of_itself_renamed": {FILE: zipped({FILE: GOOD.encode()})},
    "compressed": {FILE: gzip.compress(GOOD.encode()), f"{FILE}.gz": b""},
    "nothing_but_a_dot": {".ipynb": b""},
    "files_5000": {f"notes/{n}.txt": b"" for n in range(5_000)},
    "notebooks_1000": {f"{n}.ipynb": b"{}" for n in range(1_000)},
}


def odd_files(folder: Path) -> None:
    """What is no file, or not as large as it says."""
    for name in ("loops", "pipes", "sparse", "points_elsewhere"):
        (folder / name).mkdir()
    (folder / "loops" / "again").symlink_to(folder / "loops", target_is_directory=True)
    (folder / "loops" / FILE).symlink_to(folder / "loops" / "other.ipynb")
    (folder / "loops" / "other.ipynb").symlink_to(folder / "loops" / FILE)
    os.mkfifo(folder / "pipes" / FILE)
    before = os.getcwd()
    os.chdir(folder / "pipes")  # the name of a socket has room for 100 letters
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.bind("other.ipynb")
    finally:
        os.chdir(before)
    for name in (FILE, "hw.zip"):
        with (folder / "sparse" / name).open("wb") as file:
            file.truncate(10 << 30)
    (folder / "points_elsewhere" / "all").symlink_to(folder / "ann", target_is_directory=True)
    (folder / "a_link").symlink_to(folder / "ann", target_is_directory=True)


ODD_FILES = ("loops", "pipes", "sparse", "points_elsewhere")


def two_files(folder: Path) -> None:
    """Names that differ in case alone: one file on some systems, two on ours."""
    for student, second in (("two_equal", RIGHT), ("two_different", NO_TANH)):
        (folder / student).mkdir()
        (folder / student / FILE).write_text(GOOD)
        (folder / student / FILE.upper()).write_text(text_of(submission(second)))


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    folder, course = tmp_path_factory.mktemp("in"), tmp_path_factory.mktemp("course")
    files = {name: {FILE: content} for name, content in {"ann": GOOD.encode(), **HONEST}.items()}
    for student, own in {**files, **WITHOUT_POINTS}.items():
        for name, content in own.items():
            path = folder / student / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    odd_files(folder)
    two_files(folder)
    run, records = grade_class(Options(ASSIGNMENT, (folder,), course, jobs=2, limits=LIMITS))
    pages = write_feedback(open_course(course), ASSIGNMENT)
    return run, {record.student: record for record in records}, pages, folder


@needs_box
@pytest.mark.box
@pytest.mark.slow
def test_everybody_is_graded_or_flagged_and_has_a_page(graded):
    run, records, pages, folder = graded
    assert run.graded + run.flagged == run.submissions == len(records)
    assert len(records) == len(list(folder.iterdir()))
    assert all(record.graded or record.flags for record in records.values())
    assert len(pages) == len(records)
    assert not list(Path.cwd().glob("pwned"))


@needs_box
@pytest.mark.box
@pytest.mark.slow
@pytest.mark.parametrize("name", ["ann", *HONEST])
def test_an_odd_file_with_a_right_answer_has_all_points(graded, name):
    _, records, _, _ = graded
    (record,) = [r for r in records.values() if r.source_name.startswith(outer(name) + "/")]
    assert record.points == 8, (record.flags, record.exercises)


@needs_box
@pytest.mark.box
@pytest.mark.slow
@pytest.mark.parametrize("name", [*WITHOUT_POINTS, *ODD_FILES])
def test_what_is_no_answer_has_no_points_and_a_reason(graded, name):
    _, records, _, _ = graded
    assert records[name].points == 0
    assert records[name].flags or records[name].graded


@needs_box
@pytest.mark.box
@pytest.mark.slow
def test_two_files_whose_names_differ_in_case_are_two_files(graded):
    _, records, _, _ = graded
    assert records["two_equal"].points == 8 and not records["two_equal"].flags
    assert "Two different notebooks" in str(records["two_different"].flags[0])


def outer(name: str) -> str:
    """The name of a folder as intake reads it."""
    return name.replace("\u202e", "")


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="users are Linux's")
def test_what_may_not_be_read_is_that_students_flag():
    """The grader's own rights decide: a file or folder without them costs nobody else anything."""
    top = Path(tempfile.mkdtemp())
    try:
        for student in ("ann", "closed_file", "closed_folder"):
            (top / "in" / student).mkdir(parents=True)
            (top / "in" / student / FILE).write_text(GOOD)
        (top / "scratch").mkdir()
        for path in (top, *top.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        (top / "in" / "closed_file" / FILE).chmod(0)
        (top / "in" / "closed_folder").chmod(0)
        before = os.geteuid()
        os.seteuid(65534 if before == 0 else before)
        try:
            found = find_files(top / "in", [ASSIGNMENT], top / "scratch")
            read = {one.student: one.read().arrivals for one in found}
        finally:
            os.seteuid(before)
        assert [a.entry.problem for a in read["ann"]] == [""]
        assert "Permission denied" in read["closed_file"][0].entry.problem
        assert "Permission denied" in read["closed_folder"][0].entry.problem
    finally:
        (top / "in" / "closed_folder").chmod(0o755)
        shutil.rmtree(top)
