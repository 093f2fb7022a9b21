"""A small release notebook and the ways in which students hand it in, each with a name."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.utils import compute_checksum

ATTEND_STUB = (
    'def attend(query, states):\n    """Weights and context."""\n    raise NotImplementedError()'
)
CLASS_STUB = (
    "class DotProdAttention(nn.Module):\n"
    '    """c_t = sum of weights times states."""\n\n'
    "    def __init__(self, hidden_size):\n"
    "        raise NotImplementedError()\n"
)
NUMBERS_STUB = "score_1 = None\nscore_2 = None"
WRITTEN_STUB = "*Your answer here.*"

ATTEND = (
    "def attend(query, states):\n"
    '    """Weights and context."""\n'
    "    weights = softmax(states @ query)\n"
    "    return weights @ states, weights"
)
CLASS = (
    "class DotProdAttention(nn.Module):\n"
    "    def __init__(self, hidden_size):\n"
    "        super().__init__()\n"
    "        self.mix = nn.Linear(2 * hidden_size, hidden_size)\n"
)
NUMBERS = "score_1 = 2.5\nscore_2 = -1"
WRITTEN = "The map shows which source words each target word looks at."
SECOND_WRITTEN = "Because the dot product grows with the size of the vectors."

ANSWERS = {
    "attend": ATTEND,
    "dot-prod-attention": CLASS,
    "by-hand": NUMBERS,
    "what-the-map-shows": WRITTEN,
    "why-scale": SECOND_WRITTEN,
}


def make_release(name: str = "03_attention") -> NotebookNode:
    """A release notebook as the build writes it: ids twice, nbgrader's marks and checksums."""
    other = "" if name == "03_attention" else f" ({name})"
    suffix = "" if name == "03_attention" else "_" + name.split("_")[0]
    cells = [
        new_markdown_cell(f"# 03 · Attention{other}\n\nObjectives: score, weigh, mix. 40 minutes."),
        _tagged(new_code_cell("# Install in Colab\nprint('ready')"), ["setup"]),
        _tagged(new_code_cell('budget = "quick"'), ["parameters"]),
        _tagged(
            new_code_cell(
                "import torch\nfrom torch import nn\nfrom course_utils import check, ready\n\n"
                "def softmax(scores):\n    return torch.softmax(scores, dim=-1)"
            ),
            ["setup"],
        ),
        new_markdown_cell(f"## One query{other}\n\nWrite `attend`, which looks at every state."),
        _answer("attend" + suffix, ATTEND_STUB.replace("attend", "attend" + suffix)),
        _check("attend" + suffix),
        new_code_cell(f'if ready("attend{suffix}"):\n    draw(attend{suffix}(query, states))'),
        new_markdown_cell(f"## A module{other}\n\nNow as a module, for a whole batch at once."),
        _answer("dot-prod-attention" + suffix, CLASS_STUB.replace("Dot", "Dot" + suffix)),
        _check("dot-prod-attention" + suffix),
        new_code_cell("history = train(DotProdAttention(32))\nhistory.plot()"),
        new_markdown_cell(f"## What do you see{other}?\n\nDescribe the map in two sentences."),
        _written("what-the-map-shows" + suffix),
        new_markdown_cell(f"## Why scale{other}?\n\nSay why the scores are divided."),
        _written("why-scale" + suffix),
        new_markdown_cell(f"## By hand{other}\n\nType the two scores."),
        _answer("by-hand" + suffix, NUMBERS_STUB.replace("score", "score" + suffix)),
        _check("by-hand" + suffix),
        new_markdown_cell(f"Ready to submit{other}? Save the notebook and hand it in."),
    ]
    for number, cell in enumerate(cells):
        cell["id"] = cell.metadata["id"] = f"{name[:2]}-{number:02d}"
    notebook = new_notebook(cells=cells)
    notebook.metadata = NotebookNode(
        kernelspec={"display_name": "Python 3", "language": "python", "name": "python3"}
    )
    nbformat.validate(notebook)
    return notebook


def _tagged(cell: NotebookNode, tags: list[str]) -> NotebookNode:
    cell.metadata["tags"] = tags
    return cell


def _marked(cell: NotebookNode, grade_id: str, **marks: object) -> NotebookNode:
    base = {"grade_id": grade_id, "schema_version": 3, "task": False, "cell_type": cell.cell_type}
    cell.metadata["nbgrader"] = NotebookNode({**base, **marks})
    cell.metadata.nbgrader["checksum"] = compute_checksum(cell)
    return cell


def _answer(grade_id: str, stub: str) -> NotebookNode:
    return _marked(new_code_cell(stub), grade_id, solution=True, grade=False, locked=False)


def _check(exercise: str) -> NotebookNode:
    cell = new_code_cell(f'result = check("{exercise}")\nresult.points')
    return _marked(cell, f"{exercise}-check", solution=False, grade=True, locked=True, points=3.0)


def _written(grade_id: str) -> NotebookNode:
    cell = new_markdown_cell(WRITTEN_STUB)
    return _marked(cell, grade_id, solution=True, grade=True, locked=False, points=1.0)


def solved(release: NotebookNode | None = None, answers: dict[str, str] = ANSWERS) -> NotebookNode:
    """The release with all answers filled in, as an honest student has it."""
    notebook = copy.deepcopy(release or make_release())
    for cell in notebook.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        if grade_id in answers:
            cell.source = answers[grade_id]
    return notebook


def cell_of(notebook: NotebookNode, grade_id: str) -> NotebookNode:
    return next(
        cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id
    )


def place_of(notebook: NotebookNode, grade_id: str) -> int:
    return notebook.cells.index(cell_of(notebook, grade_id))


def to_bytes(notebook: NotebookNode) -> bytes:
    return json.dumps(notebook, ensure_ascii=False).encode("utf-8")


def to_colab(notebook: NotebookNode, minor: int = 0, marks: bool = True) -> NotebookNode:
    """A notebook as Colab writes it: format 4.0, no cell ids, its own metadata in every cell."""
    cells = []
    for number, cell in enumerate(notebook.cells):
        metadata = {"id": cell.metadata.get("id", f"kQ{number:02d}x_ZbT7d-")}
        if marks:
            metadata = {**cell.metadata, **metadata}
        fresh = {
            "cell_type": cell.cell_type,
            "source": cell.source.splitlines(keepends=True),
            "metadata": metadata,
        }
        if cell.cell_type == "code":
            metadata["colab"] = {"base_uri": "https://localhost:8080/", "height": 35}
            metadata["outputId"] = f"9f3c1b7e-52aa-4b6e-8a0f-{number:012d}"
            metadata["executionInfo"] = {
                "status": "ok",
                "timestamp": 1789000000000 + number,
                "user_tz": -120,
                "elapsed": 412,
                "user": {"displayName": "Jane Doe", "userId": "01234567890123456789"},
            }
            fresh["execution_count"] = number
            fresh["outputs"] = [
                {"output_type": "stream", "name": "stdout", "text": ["epoch 1\n", "epoch 2\n"]}
            ]
        cells.append(fresh)
    return nbformat.from_dict(
        {
            "nbformat": 4,
            "nbformat_minor": minor,
            "metadata": {
                "colab": {"provenance": [], "toc_visible": True, "gpuType": "T4"},
                "kernelspec": {"name": "python3", "display_name": "Python 3"},
                "language_info": {"name": "python"},
                "accelerator": "GPU",
            },
            "cells": cells,
        }
    )


def without_marks(notebook: NotebookNode, ids: bool = False) -> NotebookNode:
    """All metadata lost, and the cell ids too if asked."""
    for number, cell in enumerate(notebook.cells):
        cell["metadata"] = NotebookNode()
        if ids:
            cell["id"] = f"fresh-{number}"
    return notebook


@dataclass(frozen=True)
class Case:
    """One way to hand in: how it is made, what must be told, and what the answers must be."""

    name: str
    make: Callable[[], bytes]
    repairs: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    answers: dict[str, str] | None = None
    clean: bool = False


CASES: list[Case] = []


def case(
    *,
    repairs: tuple[str, ...] = (),
    flags: tuple[str, ...] = (),
    answers: dict[str, str] | None = None,
    clean: bool = False,
) -> Callable:
    """Enters a function that makes a file into the list of cases, under its own name.

    `answers` are those that differ from the right ones.
    """

    def enter(make: Callable[[], NotebookNode | bytes]) -> Callable:
        def as_bytes() -> bytes:
            made = make()
            return made if isinstance(made, bytes) else to_bytes(made)

        wanted = {**ANSWERS, **(answers or {})}
        CASES.append(Case(make.__name__, as_bytes, repairs, flags, wanted, clean))
        return make

    return enter


STUBS = {
    "attend": ATTEND_STUB,
    "dot-prod-attention": CLASS_STUB,
    "by-hand": NUMBERS_STUB,
    "what-the-map-shows": WRITTEN_STUB,
    "why-scale": WRITTEN_STUB,
}


@case(clean=True)
def untouched_by_accidents():
    return solved()


@case(answers=STUBS, clean=True)
def nothing_answered():
    return make_release()


@case(repairs=("attend: the answer cell was missing",), answers={"attend": ATTEND_STUB})
def answer_cell_deleted():
    notebook = solved()
    del notebook.cells[place_of(notebook, "attend")]
    return notebook


@case(repairs=("restored: attend-check",))
def check_cell_deleted():
    notebook = solved()
    del notebook.cells[place_of(notebook, "attend-check")]
    return notebook


@case(
    repairs=("what-the-map-shows: the cell for the written answer was missing",),
    answers={"what-the-map-shows": WRITTEN_STUB},
)
def written_cell_deleted():
    notebook = solved()
    del notebook.cells[place_of(notebook, "what-the-map-shows")]
    return notebook


@case(repairs=("attend: the notebook had the answer cell 2 times",))
def answer_cell_duplicated():
    notebook = solved()
    twin = copy.deepcopy(cell_of(notebook, "attend"))
    twin["id"] = "twin"
    notebook.cells.insert(place_of(notebook, "attend") + 1, twin)
    return notebook


@case(repairs=("kept once: attend-check",))
def check_cell_duplicated():
    notebook = solved()
    twin = copy.deepcopy(cell_of(notebook, "attend-check"))
    notebook.cells.append(twin)
    return notebook


@case(repairs=("attend: the notebook had the answer cell 2 times",))
def stub_kept_beside_the_answer():
    notebook = solved()
    twin = copy.deepcopy(cell_of(make_release(), "attend"))
    notebook.cells.insert(place_of(notebook, "attend") + 1, twin)
    return notebook


@case(
    flags=("attend: the notebook has 2 different answers",),
    answers={"attend": ATTEND + "  # second"},
)
def two_different_answers_with_one_grade_id():
    notebook = solved()
    twin = copy.deepcopy(cell_of(notebook, "attend"))
    twin.source += "  # second"
    notebook.cells.insert(place_of(notebook, "attend") + 1, twin)
    return notebook


@case(flags=("attend: another definition of attend is in cell 21,",))
def a_rival_answer_in_a_cell_of_ones_own():
    notebook = solved()
    notebook.cells.append(new_code_cell("def attend(query, states):\n    return states[0], None"))
    return notebook


@case(
    repairs=("what-the-map-shows: text in cells below",),
    answers={"what-the-map-shows": WRITTEN + "\n\nAnd more."},
)
def written_answer_split():
    notebook = solved()
    notebook.cells.insert(
        place_of(notebook, "what-the-map-shows") + 1, new_markdown_cell("And more.")
    )
    return notebook


@case(repairs=("what-the-map-shows: text in cells below",))
def written_answer_below_the_untouched_stub():
    notebook = solved()
    cell_of(notebook, "what-the-map-shows").source = WRITTEN_STUB
    notebook.cells.insert(place_of(notebook, "what-the-map-shows") + 1, new_markdown_cell(WRITTEN))
    return notebook


@case(repairs=("why-scale: the answer was in the question's cell",))
def written_answer_typed_into_the_question():
    notebook = solved()
    cell_of(notebook, "why-scale").source = WRITTEN_STUB
    notebook.cells[place_of(notebook, "why-scale") - 1].source += "\n\n" + SECOND_WRITTEN
    return notebook


@case(
    flags=("what-the-map-shows: the notebook has 2 different written answers",),
    answers={"what-the-map-shows": WRITTEN + "\n\nNo: it shows nothing."},
)
def two_different_written_answers():
    notebook = solved()
    twin = copy.deepcopy(cell_of(notebook, "what-the-map-shows"))
    twin.source = "No: it shows nothing."
    notebook.cells.insert(place_of(notebook, "what-the-map-shows") + 1, twin)
    return notebook


@case(
    repairs=("by-hand: the answer was split",),
    answers={"by-hand": "score_1 = 2.5\n\n\nscore_2 = -1"},
)
def answer_split_into_two_cells():
    notebook = solved()
    cell_of(notebook, "by-hand").source = "score_1 = 2.5"
    notebook.cells.insert(place_of(notebook, "by-hand") + 1, new_code_cell("score_2 = -1"))
    return notebook


@case(
    repairs=("by-hand: the answer was split",),
    answers={"by-hand": "score_1 = 2.5\n\n\nscore_2 = -1"},
)
def answer_split_with_the_marks_on_both():
    notebook = solved()
    first = cell_of(notebook, "by-hand")
    second = copy.deepcopy(first)
    first.source, second.source = "score_1 = 2.5", "score_2 = -1"
    notebook.cells.insert(place_of(notebook, "by-hand") + 1, second)
    return notebook


@case(repairs=("attend: the answer was in another cell",))
def answer_retyped_in_a_new_cell():
    notebook = solved()
    cell_of(notebook, "attend").source = ATTEND_STUB
    notebook.cells.insert(place_of(notebook, "attend") + 1, new_code_cell(ATTEND))
    return notebook


@case(repairs=("attend: the answer was in another cell",))
def answer_cell_deleted_and_retyped():
    notebook = solved()
    place = place_of(notebook, "attend")
    notebook.cells[place] = new_code_cell(ATTEND)
    return notebook


@case(repairs=("attend: the answer was in another cell",))
def answer_typed_into_the_check_cell():
    notebook = solved()
    cell_of(notebook, "attend").source = ATTEND_STUB
    check = cell_of(notebook, "attend-check")
    check.source = ATTEND + "\n\n" + check.source
    return notebook


@case(repairs=("attend: the answer was in a text cell",))
def answer_cell_turned_into_text():
    notebook = solved()
    cell = cell_of(notebook, "attend")
    cell["cell_type"] = "markdown"
    return notebook


@case(repairs=("attend: the answer was in a text cell",))
def answer_cell_turned_raw_without_marks():
    notebook = solved()
    cell = cell_of(notebook, "attend")
    cell["cell_type"], cell["metadata"], cell["id"] = "raw", NotebookNode(), "new"
    return notebook


@case(repairs=("why-scale: the written answer was in a code cell",))
def written_answer_turned_into_code():
    notebook = solved()
    cell = cell_of(notebook, "why-scale")
    cell.update(cell_type="code", outputs=[], execution_count=None)
    return notebook


@case(repairs=("Cells had been moved",))
def cells_reordered():
    notebook = solved()
    notebook.cells.insert(0, notebook.cells.pop(place_of(notebook, "by-hand")))
    notebook.cells.append(notebook.cells.pop(place_of(notebook, "what-the-map-shows")))
    return notebook


@case(repairs=("Cells had been moved",))
def whole_notebook_upside_down():
    notebook = solved()
    notebook.cells.reverse()
    return notebook


@case(repairs=("attend: its grade_id was 'attend-2'",))
def grade_id_renamed():
    notebook = solved()
    cell_of(notebook, "attend").metadata.nbgrader["grade_id"] = "attend-2"
    return notebook


@case(repairs=("attend: the answer was in another cell",))
def grade_id_renamed_and_ids_new():
    notebook = solved()
    cell = cell_of(notebook, "attend")
    cell.metadata.nbgrader["grade_id"], cell.metadata["id"], cell["id"] = "x", "y", "z"
    return notebook


@case(repairs=("dot-prod-attention: its nbgrader metadata was changed",))
def marks_retagged():
    notebook = solved()
    cell_of(notebook, "dot-prod-attention").metadata.nbgrader.update(solution=False, locked=True)
    cell_of(notebook, "attend-check").metadata["tags"] = ["skip-execution"]
    return notebook


@case(repairs=("attend: its nbgrader metadata was changed",))
def schema_version_from_the_future():
    notebook = solved()
    cell_of(notebook, "attend").metadata.nbgrader["schema_version"] = 99
    return notebook


@case(repairs=("Changed locked cells, restored: attend-check",))
def check_cell_rewritten():
    notebook = solved()
    cell_of(notebook, "attend-check").source = "3.0"
    return notebook


@case(repairs=("lost its nbgrader metadata",))
def all_metadata_lost():
    return without_marks(solved())


@case(repairs=("lost its nbgrader metadata", "found by its position"))
def all_metadata_and_ids_lost():
    return without_marks(solved(), ids=True)


@case(repairs=("lost its nbgrader metadata", "Cells had been moved"))
def all_metadata_lost_and_code_moved():
    notebook = without_marks(solved(), ids=True)
    notebook.cells.insert(0, notebook.cells.pop(17))
    return notebook


@case(repairs=("lost its nbgrader metadata",), answers=STUBS)
def all_metadata_lost_and_nothing_answered():
    return without_marks(make_release(), ids=True)


@case(repairs=("saved by Colab",))
def saved_by_colab():
    return to_colab(solved())


@case(repairs=("saved by Colab", "lost its nbgrader metadata"))
def saved_by_colab_with_only_its_own_ids():
    return to_colab(solved(), marks=False)


@case(repairs=("saved by Colab", "lost its nbgrader metadata", "found by its position"))
def saved_by_colab_after_upload_without_ids():
    return to_colab(without_marks(solved(), ids=True), minor=1, marks=False)


@case(repairs=("saved by Colab", "attend: the notebook had the answer cell 2 times"))
def saved_by_colab_with_a_copied_cell():
    notebook = to_colab(solved())
    twin = copy.deepcopy(cell_of(notebook, "attend"))
    twin["metadata"]["id"] = "Vb2kQ0-new"
    notebook.cells.insert(place_of(notebook, "attend") + 1, twin)
    return notebook


@case(repairs=("no cell ids",))
def older_notebook_format():
    notebook = solved()
    notebook["nbformat_minor"] = 4
    for cell in notebook.cells:
        del cell["id"]
    return notebook


@case(repairs=("another kernel (ir)",))
def another_kernel():
    notebook = solved()
    notebook.metadata["kernelspec"] = {"name": "ir", "display_name": "R", "language": "R"}
    return notebook


@case(
    repairs=("'softmax-by-hand' is not in this release",),
    flags=("'softmax-by-hand' was answered",),
    answers={"by-hand": NUMBERS_STUB},
)
def an_older_release():
    notebook = solved()
    cell = cell_of(notebook, "by-hand")
    cell.metadata.nbgrader["grade_id"] = "softmax-by-hand"
    cell["id"] = cell.metadata["id"] = "old"
    cell.source = "exponentials = [1.0, 2.7]"
    del notebook.cells[place_of(notebook, "by-hand-check")]
    return notebook


@case(answers={"what-the-map-shows": WRITTEN_STUB}, clean=True)
def an_older_stub_that_was_not_touched():
    notebook = solved()
    cell = cell_of(notebook, "what-the-map-shows")
    cell.source = "*Write here.*"
    cell.metadata.nbgrader["checksum"] = compute_checksum(cell)
    return notebook


@case(
    repairs=("DotProdAttention was called DotProductAttention",),
    answers={
        "dot-prod-attention": CLASS.replace("DotProd", "DotProduct").strip()
        + "\n\nDotProdAttention = DotProductAttention"
    },
)
def class_renamed():
    notebook = solved()
    cell_of(notebook, "dot-prod-attention").source = CLASS.replace("DotProd", "DotProduct")
    return notebook


@case(answers={"attend": "def attend(query, states:\n    return"})
def answer_with_a_syntax_error():
    notebook = solved()
    cell_of(notebook, "attend").source = "def attend(query, states:\n    return"
    return notebook


@case(
    repairs=("The student's own cells that answers use were kept: cell 7",),
    answers={"attend": "def attend(q, s):\n    return mix(q, s), math.pi"},
)
def helpers_in_cells_of_ones_own():
    notebook = solved()
    cell_of(notebook, "attend").source = "def attend(q, s):\n    return mix(q, s), math.pi"
    helper = "import math\nSCALE = math.sqrt(2)\n\ndef mix(q, s):\n    return SCALE * q"
    notebook.cells.insert(place_of(notebook, "attend"), new_code_cell(helper))
    notebook.cells.insert(0, new_code_cell("train_for_hours()"))
    return notebook


@case(
    repairs=("The student's own cells that answers use were kept: cell 4",),
    answers={"attend": "def attend(q, s):\n    return einsum(q, s), None"},
)
def import_added_to_a_given_cell():
    notebook = solved()
    cell_of(notebook, "attend").source = "def attend(q, s):\n    return einsum(q, s), None"
    notebook.cells[3].source += "\nfrom torch import einsum"
    return notebook


@case(repairs=("old format",))
def notebook_of_format_3():
    notebook = nbformat.convert(copy.deepcopy(solved()), 3)
    return json.dumps(notebook).encode()


@case(clean=True)
def saved_with_a_byte_order_mark():
    return b"\xef\xbb\xbf" + to_bytes(solved())


@case(clean=True)
def saved_as_utf_16():
    return to_bytes(solved()).decode().encode("utf-16")


@case(clean=True)
def saved_with_windows_line_ends():
    notebook = solved()
    for cell in notebook.cells:
        cell.source = cell.source.replace("\n", "\r\n")
    return notebook


@case(repairs=("Cell 3 is not a cell",))
def odd_things_among_the_cells():
    notebook = json.loads(to_bytes(solved()))
    notebook["cells"].insert(2, "not a cell")
    notebook["cells"].append({"cell_type": "heading", "source": 5, "metadata": None})
    return json.dumps(notebook).encode()


@case(answers={"attend": ATTEND + "\n# BEGIN-HIDDEN TESTS"})
def nbgraders_own_words_in_an_answer():
    notebook = solved()
    cell_of(notebook, "attend").source += "\n# BEGIN HIDDEN TESTS"
    return notebook


@case(answers={"why-scale": "<script>alert(1)</script> [x](javascript:alert(1))"})
def a_script_in_a_written_answer():
    notebook = solved()
    cell_of(notebook, "why-scale").source = "<script>alert(1)</script> [x](javascript:alert(1))"
    return notebook


def cells_of(source: str, count: int) -> bytes:
    """A notebook with the same code cell many times."""
    return json.dumps({"cells": [{"cell_type": "code", "source": source}] * count}).encode()


# Files that hold no answers: a flag each, and no notebook.
UNREADABLE: dict[str, tuple[bytes, str]] = {
    "empty_file": (b"", "The file is empty"),
    "only_blanks": (b" \n ", "The file is empty"),
    "not_json": (b"dear teacher, my notebook", "not JSON"),
    "cut_short": (to_bytes(solved())[:-400], "not JSON"),
    "a_web_page": (b"<!DOCTYPE html><html></html>", "a web page"),
    "a_pdf": (b"%PDF-1.7 ...", "a renamed PDF"),
    "a_zip_called_notebook": (b"PK\x03\x04 rest", "a renamed zip"),
    "a_git_conflict": (b"{\n<<<<<<< HEAD\n=======\n>>>>>>> mine\n}", "unfinished git merge"),
    "a_json_list": (b"[1, 2]", "not a notebook"),
    "json_without_cells": (b'{"metadata": {}}', "not a notebook"),
    "no_cells": (b'{"cells": [], "nbformat": 4, "metadata": {}}', "no cells"),
    "nested_too_deep": (b"[" * 200_000, "not JSON"),
    "too_many_cells": (cells_of("", 5001), "5001 cells"),
    "too_much_text": (cells_of("x = 1\n" * 90_000, 2), "1,080,000 characters"),
    "another_notebook": (
        to_bytes(new_notebook(cells=[new_code_cell("print('homework of biology')")])),
        "a different notebook",
    ),
}


def packed(contents: dict[str, bytes | str]) -> bytes:
    """A zip of these files, as bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return stream.getvalue()
