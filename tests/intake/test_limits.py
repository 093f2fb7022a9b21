"""Nothing in one student's files is endless: each limit is met with a flag, and others go on."""

import ast
import json
import os
import subprocess
import sys
from urllib.parse import quote

import nbformat
import pytest

from autograder.intake import assembly, collect, files, rebuild
from autograder.intake.cells import Unreadable, read_document
from autograder.intake.code import _flat, new_statements, parse, read_code
from autograder.intake.text import (
    clean_cell_text,
    clean_name,
    clean_text,
    file_name,
    made_id,
    moment,
    sentence,
    sentences,
)
from autograder.intake.whose_numbers import assigned_text
from tests.intake.handed_in import cell_of, make_release, packed, solved, to_bytes

RELEASE = make_release()
RELEASES = {"03_attention": RELEASE}
GOOD = to_bytes(solved())


def laid_out(tmp_path, contents):
    for name, data in contents.items():
        path = tmp_path / "class" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "class"


def beside_ann(tmp_path, contents):
    """What came of somebody's files; Ann, beside them, has all her answers."""
    found = {
        s.student: s
        for s in collect(laid_out(tmp_path, {**contents, "ann/03_attention.ipynb": GOOD}), RELEASES)
    }
    assert cell_of(found["ann"].notebook, "attend").source == cell_of(solved(), "attend").source
    assert found.pop("ann").flags == ()
    return found


# Strings ------------------------------------------------------------------------------------------


def test_text_keeps_what_is_read_and_nothing_unseen():
    assert (
        clean_text("a\r\nb\rc\x00\x1b[31m\u202etxt\u2066\x7f\x9b\ud800ß学\t")
        == "a\nb\nc[31mtxt\ufffdß学\t"
    )
    assert clean_cell_text("### BEGIN HIDDEN TESTS") == "### BEGIN-HIDDEN TESTS"


@pytest.mark.parametrize("text", [None, 3, [], "", "\x00\n", "\u202e"])
def test_no_name_is_an_empty_name(text):
    assert clean_name(text) == ""


def test_a_pile_of_accents_is_cut_down():
    assert len(clean_name("a" + "\u0301\u0316" * 500_000)) <= 10


@pytest.mark.parametrize(
    "text", ["學" * 33, "ก" * 80, "a" * 300, "\ud800" * 90, ".hidden" + "é" * 70]
)
def test_the_names_of_our_files_are_short_ascii_and_one_of_a_kind(text):
    for name in (f"{text}.ipynb", text):
        made = file_name(name)
        assert made.isascii() and len(made) <= 80 and not made.startswith(".") and "/" not in made
        assert made.endswith(".ipynb") is name.endswith(".ipynb")
        assert file_name(name + "x") != made


@pytest.mark.parametrize("text", ["jdoe", "jane.doe@uni.example", "Jane Doe", "müller"])
def test_short_names_of_files_stay_as_they_were(text):
    assert file_name(text) == quote(text, safe=" @+,=")


def test_ids_that_are_made_up_are_folders_and_differ_where_names_do():
    names = ["ก" * 60 + tail for tail in "กขค"] + ["../../etc", "..", "a/b", "\n", "CON:"]
    ids = [made_id(name) for name in names]
    assert len(set(ids[:3])) == 3 and all(len(one.encode()) <= 60 for one in ids)
    assert ids[3:] == ["etc", "", "a_b", "", "CON"]


@pytest.mark.parametrize(
    "text", ["0001-01-01 00:00 +14:00", "9999-12-31 23:59 -14:00", "1" * 10**6, None, 7]
)
def test_times_out_of_reach_are_no_times(text):
    assert moment(text) is None


def test_sentences_are_few_and_not_endless():
    assert len(sentence("x\n" * 10**6)) <= 600
    found = sentences(f"Sentence {number}." for number in range(1000))
    assert len(found) == 61 and found[-1] == "And 940 more like these."


# Files --------------------------------------------------------------------------------------------


def test_folders_a_thousand_deep_are_flagged(tmp_path):
    top = tmp_path / "class" / "mallory"
    top.mkdir(parents=True)
    before = os.getcwd()
    try:
        os.chdir(top)
        for _ in range(1100):
            os.mkdir("d")
            os.chdir("d")
    finally:
        os.chdir(before)
    try:
        found = beside_ann(tmp_path, {"mallory/03_attention.ipynb": GOOD})
        assert any("more than 40 deep" in flag for flag in found["mallory"].flags)
    finally:  # Python's own removing would end at its limit of recursion
        subprocess.run(["rm", "-rf", str(top)], check=True)


@pytest.mark.parametrize(
    "name", ["..", "/", ".", "../..", "d/" * 1100 + "x.ipynb", "\\..\\", "a/../../b.ipynb"]
)
def test_odd_entries_of_a_zip_are_flagged_or_nothing(tmp_path, name):
    archive = packed({"03_attention.ipynb": GOOD, name: b"{}"})
    found = beside_ann(tmp_path, {"mallory/hw.zip": archive})
    assert set(found) == {"mallory"} and found["mallory"].notebook is not None


def test_of_hundreds_of_notebooks_only_some_are_read(tmp_path, monkeypatch):
    archive = packed({f"v{number}/03_attention.ipynb": GOOD for number in range(300)})
    module = sys.modules["autograder.intake.collect"]
    read = []
    real = module._submission
    monkeypatch.setattr(module, "_submission", lambda *a: (read.append(a), real(*a))[1])
    found = beside_ann(tmp_path, {"mallory/hw.zip": archive})
    assert len(read) <= module.MOST_NOTEBOOKS + 1
    assert any("300 notebooks were handed in" in flag for flag in found["mallory"].flags)


def test_a_zip_with_too_many_entries_is_not_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MOST_ENTRIES", 5)
    archive = packed({f"{number}.txt": b"" for number in range(6)})
    found = beside_ann(tmp_path, {"mallory/hw.zip": archive})
    assert "at most 5 can be read" in found["mallory"].flags[-1]


def test_in_a_class_zip_nobody_uses_up_the_others_room(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGEST_ZIP", 3 * len(GOOD))
    contents = {f"mallory/{number}_03_attention.ipynb": GOOD for number in range(9)}
    contents |= {"ann/03_attention.ipynb": GOOD, "bob/03_attention.ipynb": GOOD}
    path = tmp_path / "class.zip"
    path.write_bytes(packed(contents))
    found = {s.student: s for s in collect(path, RELEASES)}
    assert all(s.notebook is not None for s in found.values())
    assert found["ann"].flags == found["bob"].flags == ()
    assert any("not read" in flag for flag in found["mallory"].flags)


@pytest.mark.parametrize(
    "data",
    [
        b"[" + b"[]," * 1_200_000 + b"[]]",
        b'{"cells": [' + b"1," * 3_100_000 + b"1]}",
        b"[" * 200_000,
        b'{"cells": [{"source": ' + b"9" * 1_000_000 + b"}]}",
    ],
    ids=["lists", "values", "depth", "digits"],
)
def test_json_that_would_fill_the_memory_is_not_read(data):
    with pytest.raises(Unreadable):
        read_document(data)


def test_a_surrogate_in_an_id_is_cleaned_and_can_be_stored():
    notebook = json.loads(to_bytes(solved()))
    for cell in notebook["cells"]:
        cell["metadata"].setdefault("nbgrader", {})["grade_id"] = "a\ud800\x00"
        cell["source"] = "".join(cell["source"]) + "\ud800"
    rebuilt = rebuild(json.dumps(notebook).encode(), RELEASE)
    json.dumps(rebuilt.notebook, ensure_ascii=False).encode()
    "\n".join(rebuilt.repairs + rebuilt.flags).encode()


# Code ---------------------------------------------------------------------------------------------


def test_a_chain_of_helper_cells_is_walked_once(monkeypatch):
    notebook = solved()
    cell_of(notebook, "attend").source = "def attend(q, s):\n    return h0(q), s"
    chain = [f"def h{n}(x):\n    return h{n + 1}(x)" for n in range(800)]
    notebook.cells[4:4] = [nbformat.v4.new_code_cell(source) for source in reversed(chain)]
    reads = []
    real = assembly.read_code
    monkeypatch.setattr(
        assembly, "read_code", lambda source: (reads.append(source), real(source))[1]
    )
    rebuilt = rebuild(to_bytes(notebook), RELEASE)
    carried = [c for c in rebuilt.notebook.cells if c.metadata.get("tags") == ["setup", "student"]]
    assert len(carried) == 800
    assert len(reads) <= 10


def test_thousands_of_new_statements_are_found_without_splitting_the_source_again(monkeypatch):
    monkeypatch.setattr(ast, "get_source_segment", None)
    source = "x = 1\n" + "\n".join(f"ä{n} = 'ö'; b{n} = (1,\n  2)" for n in range(4000))
    added = new_statements(source, "x = 1")
    assert added.startswith("ä0 = 'ö'\nb0 = (1,\n  2)\nä1 = 'ö'\n")
    assert added.count("\n") == 4000 * 3 - 1


def test_a_long_chain_of_elifs_is_read():
    source = "if a:\n    b0 = 1\n" + "\n".join(f"elif a{n}:\n    b{n} = 1" for n in range(60))
    assert len(read_code(source).defines) == 60
    assert len(_flat(parse(source).body)) == 122


def test_an_expression_too_deep_to_compare_costs_nobody_their_notebook():
    deep = "x = a" + ".a" * 900
    notebook = solved()
    notebook.cells[3].source += f"\n{deep}"
    rebuilt = rebuild(to_bytes(notebook), RELEASE)
    assert cell_of(rebuilt.notebook, "attend").source == cell_of(notebook, "attend").source
    assert new_statements(f"y = 1\n{deep}", "y = 1") == deep


def test_code_without_end_is_not_parsed():
    reading = read_code("def attend(q, s):\n    pass\n" + "x=[[]]\n" * 40_000)
    assert not reading.parsed and "attend" in reading.defines


def test_a_number_without_end_as_an_id_is_no_id():
    assert assigned_text("student_id = 0x" + "f" * 100_000) is None
    assert assigned_text("student_id = 'a\\ud800b'") == "a\ufffdb"
