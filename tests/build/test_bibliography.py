"""Citations: one file of works, links in the notebooks, a list at the end of each."""

import importlib.util
import json
from pathlib import Path

import nbformat
import pytest

from autograder import bibliography, build
from course_utils import register

ROOT = Path(__file__).parent.parent.parent


def page():
    spec = importlib.util.spec_from_file_location("pages", ROOT / "docs/make_bibliography.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_citation_becomes_a_link_with_author_and_year():
    assert bibliography.fill_in("As in [@vaswani2017].") == (
        "As in ([Vaswani et al., 2017](https://arxiv.org/abs/1706.03762))."
    )
    assert bibliography.fill_in("As in @[vaswani2017].") == (
        "As in [Vaswani et al. (2017)](https://arxiv.org/abs/1706.03762)."
    )


def test_several_citations_share_one_pair_of_brackets():
    both = bibliography.fill_in("Shown twice [@post2018; @jain2019].")
    assert both == (
        "Shown twice ([Post, 2018](https://arxiv.org/abs/1804.08771); "
        "[Jain and Wallace, 2019](https://arxiv.org/abs/1902.10186))."
    )


def test_two_authors_are_both_named_and_a_document_without_address_is_no_link():
    assert bibliography.work("press2017").label == "Press and Wolf, 2017"
    assert bibliography.fill_in("From @[eecs182-discussion].") == "From Sahai (2023a)."


def test_a_work_without_an_author_is_cited_by_its_title():
    assert bibliography.fill_in("As shown [@attention-lecture].") == (
        "As shown (“Attention and transformers”)."
    )


def test_no_two_works_are_cited_by_the_same_name_and_year():
    labels = [work.label for work in bibliography.works().values()]
    assert len(set(labels)) == len(labels)
    assert bibliography.work("cho2014").label == "Cho et al., 2014a"
    assert bibliography.work("cho2014properties").label == "Cho et al., 2014b"


def test_a_citation_of_an_unknown_work_fails_the_build_with_its_file(tmp_path, monkeypatch):
    good = (build.SOURCES / "00_start_here.py").read_text(encoding="utf-8")
    monkeypatch.setattr(build, "SOURCES", tmp_path)
    source = tmp_path / "00_start_here.py"
    source.write_text(good + "\n\n# %% [markdown]\n# As in [@nobody1999].\n", encoding="utf-8")
    with pytest.raises(build.BuildError, match=r"00_start_here.py: \[@nobody1999\] is not in"):
        build.read_source(source)


def test_a_notebook_closes_with_what_it_cites_each_once(tmp_path, monkeypatch):
    good = (build.SOURCES / "00_start_here.py").read_text(encoding="utf-8")
    monkeypatch.setattr(build, "SOURCES", tmp_path)
    source = tmp_path / "00_start_here.py"
    cell = "\n\n# %% [markdown]\n# [@luong2015], again [@luong2015], and [@bahdanau2015].\n"
    source.write_text(good + cell, encoding="utf-8")
    cells = build.read_source(source).cells
    listed = [c.source for c in cells if c.source.startswith("## References")]
    assert len(listed) == 1
    lines = listed[0].splitlines()[2:]
    assert [line.split()[1].rstrip(",") for line in lines] == ["Bahdanau", "Luong"]


def test_every_work_has_a_title_a_place_and_a_key_of_its_own():
    entries = json.loads(bibliography.FILE.read_text(encoding="utf-8"))
    assert len({entry["id"] for entry in entries}) == len(entries)
    for work in bibliography.works().values():
        assert work.title and work.published
        assert work.year or work.kind == "document", work.key
        assert work.address.startswith("https://") or not work.address


def test_the_page_in_docs_is_what_the_file_gives():
    written = (ROOT / "docs/bibliography.md").read_text(encoding="utf-8")
    assert written == page().text(), "run `python docs/make_bibliography.py`"


def test_every_work_is_cited_in_a_notebook():
    assert bibliography.works().keys() == page().citations().keys()


# How the register names the teaching material, and the key of each.
ORIGINS = {
    "IST practical": "ist-practical",
    "EECS 182 discussion": "eecs182-discussion",
    "homework": "eecs182-homework",
    "translation assignment": "seq2seq-assignment",
    "CS224n": "cs224n",
    "lecture": "attention-lecture",
}


@pytest.mark.parametrize("entry", register.notebooks(), ids=lambda entry: entry.name)
def test_a_notebook_cites_the_teaching_material_that_it_grew_out_of(entry):
    cited = {key for key, places in page().citations().items() if entry.name[:2] in places}
    named = {key for words, key in ORIGINS.items() if words in entry.origin}
    assert named <= cited
    assert named or entry.origin == "new in this course"


def test_the_register_names_every_piece_of_teaching_material():
    origins = " ".join(entry.origin for entry in register.notebooks())
    assert all(words in origins for words in ORIGINS)
    documents = {work.key for work in bibliography.works().values() if work.kind == "document"}
    assert set(ORIGINS.values()) == documents


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_no_citation_mark_is_left_in_a_built_notebook(path):
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            assert not bibliography.CITATION.search(cell.source)
