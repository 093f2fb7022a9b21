"""Every way of damaging a notebook leaves the answers found, and told about."""

import base64
import copy
import random

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbgrader.utils import determine_grade

from autograder.grading.releases import release_notebook
from autograder.grading.what_to_run import cells_to_run
from autograder.intake import places, rebuild
from autograder.intake.cells import read_document
from autograder.solutions import solution_source
from course_utils.checks import judge
from course_utils.notebook import judge_here
from tests.intake import handed_in
from tests.intake.handed_in import CASES, UNREADABLE, cell_of, make_release, solved, to_bytes

RELEASE = make_release()


def marks_of(notebook):
    return [dict(cell.metadata.nbgrader) for cell in notebook.cells if "nbgrader" in cell.metadata]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_answers_are_found_whatever_happened(case):
    rebuilt = rebuild(case.make(), RELEASE)
    nbformat.validate(rebuilt.notebook)
    assert marks_of(rebuilt.notebook) == marks_of(RELEASE)
    for grade_id, source in case.answers.items():
        assert cell_of(rebuilt.notebook, grade_id).source.strip() == source.strip(), grade_id
    for text in case.repairs:
        assert any(text in repair for repair in rebuilt.repairs), rebuilt.repairs
    for text in case.flags:
        assert any(text in flag for flag in rebuilt.flags), rebuilt.flags
    if case.clean:
        assert rebuilt.repairs == ()
    if not case.flags:
        assert rebuilt.flags == ()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_given_cells_always_come_from_the_release(case):
    rebuilt = rebuild(case.make(), RELEASE)
    given = [c for c in RELEASE.cells if not c.metadata.get("nbgrader", {}).get("solution")]
    found = {cell["id"]: cell for cell in rebuilt.notebook.cells}
    for cell in given:
        assert found[cell["id"]].source == cell.source
        assert found[cell["id"]].metadata.get("tags") == cell.metadata.get("tags")


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_without_answers_gets_a_flag_and_no_notebook(name):
    data, sentence = UNREADABLE[name]
    rebuilt = rebuild(data, RELEASE)
    assert rebuilt.notebook is None
    assert any(sentence in flag for flag in rebuilt.flags), rebuilt.flags


def test_there_are_at_least_forty_fixtures():
    assert len(CASES) + len(UNREADABLE) >= 40


def test_untouched_written_answers_still_score_zero_without_a_person():
    rebuilt = rebuild(to_bytes(make_release()), RELEASE)
    assert determine_grade(cell_of(rebuilt.notebook, "why-scale")) == (0, 1.0)


def test_a_changed_written_answer_waits_for_a_person():
    rebuilt = rebuild(to_bytes(solved()), RELEASE)
    assert determine_grade(cell_of(rebuilt.notebook, "why-scale"))[0] is None


def test_helpers_run_before_the_answer_and_training_never():
    rebuilt = rebuild(to_bytes(handed_in.helpers_in_cells_of_ones_own()), RELEASE)
    tags = {cell.source: cell.metadata.get("tags") for cell in rebuilt.notebook.cells}
    helper = next(source for source in tags if "SCALE" in source)
    assert tags[helper] == ["setup", "student"]
    assert tags["train_for_hours()"] == ["student"]
    sources = [cell.source for cell in rebuilt.notebook.cells]
    assert sources.index(helper) + 1 == sources.index(cell_of(rebuilt.notebook, "attend").source)


def test_cells_are_named_by_their_place_in_the_students_file():
    """A bare "kept: 9" could as well be a number of cells."""
    notebook = solved()
    cell_of(notebook, "attend").source = "def attend(q, s):\n    return one(q), two(s)"
    for place, name in ((5, "one"), (8, "two")):
        helper = nbformat.v4.new_code_cell(f"def {name}(x):\n    return x")
        notebook.cells.insert(place, helper)
    repairs = rebuild(to_bytes(notebook), RELEASE).repairs
    assert repairs == ("The student's own cells that answers use were kept: cells 6, 9.",)
    del notebook.cells[5]
    cell_of(notebook, "attend").source = "def attend(q, s):\n    return q, two(s)"
    repairs = rebuild(to_bytes(notebook), RELEASE).repairs
    assert repairs == ("The student's own cells that answers use were kept: cell 8.",)


def test_importing_the_same_again_is_no_second_answer():
    notebook = solved()
    cell_of(notebook, "attend").source = "import math\n" + handed_in.ATTEND
    release = make_release()
    cell_of(release, "attend").source = "import math\n" + handed_in.ATTEND_STUB
    notebook.cells.insert(2, nbformat.v4.new_code_cell("import math"))
    rebuilt = rebuild(to_bytes(notebook), release)
    assert rebuilt.flags == ()
    assert cell_of(rebuilt.notebook, "attend").source == "import math\n" + handed_in.ATTEND


def test_a_method_patched_in_later_stays_behind_its_class():
    notebook = solved()
    patch = "def forward(self, x):\n    return x\n\nDotProdAttention.forward = forward"
    notebook.cells.append(nbformat.v4.new_code_cell(patch))
    rebuilt = rebuild(to_bytes(notebook), RELEASE).notebook
    place = handed_in.place_of(rebuilt, "dot-prod-attention")
    assert rebuilt.cells[place + 1].source == patch
    assert "setup" in rebuilt.cells[place + 1].metadata.tags


def test_installing_packages_is_left_out_of_carried_cells():
    notebook = solved()
    cell_of(notebook, "attend").source = "def attend(q, s):\n    return einops.rearrange(q), s"
    notebook.cells.insert(3, nbformat.v4.new_code_cell("!pip install einops\nimport einops"))
    rebuilt = rebuild(to_bytes(notebook), RELEASE).notebook
    carried = [c for c in rebuilt.cells if c.metadata.get("tags") == ["setup", "student"]]
    assert [cell.source for cell in carried] == ["import einops"]


def test_saved_outputs_are_kept_as_text_and_png_and_marked():
    notebook = solved()
    png = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()
    notebook.cells[11].outputs = [
        nbformat.v4.new_output("stream", name="stderr", text="warning"),
        nbformat.v4.new_output("error", ename="E", evalue="v", traceback=["\x1b[31mE: v\x1b[0m"]),
        nbformat.v4.new_output(
            "execute_result",
            data={"text/html": "<script>steal()</script>", "text/plain": "7.0", "image/png": png},
        ),
        nbformat.v4.new_output("display_data", data={"application/javascript": "steal()"}),
        nbformat.v4.new_output("display_data", data={"image/png": "AAAA"}),
    ]
    rebuilt = rebuild(to_bytes(notebook), RELEASE).notebook
    cell = next(cell for cell in rebuilt.cells if cell.source.startswith("history"))
    kinds = [(out.output_type, sorted(out.get("data", {}))) for out in cell.outputs]
    assert kinds == [
        ("stream", []),
        ("stream", []),
        ("display_data", ["image/png", "text/plain"]),
    ]
    assert all(out.name == "stdout" for out in cell.outputs if out.output_type == "stream")


def test_outputs_of_graded_cells_are_never_taken_over():
    notebook = solved()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [nbformat.v4.new_output("execute_result", data={"text/plain": "3.0"})]
    rebuilt = rebuild(to_bytes(notebook), RELEASE).notebook
    for cell in rebuilt.cells:
        if "nbgrader" in cell.metadata and cell.cell_type == "code":
            assert cell.outputs == []


def test_pictures_in_a_written_answer_are_kept_and_nothing_else():
    notebook = solved()
    cell = cell_of(notebook, "why-scale")
    cell["attachments"] = {
        "plot.png": {"image/png": "iVBORw0KGgo="},
        "evil.svg": {"image/svg+xml": "<svg onload='steal()'/>"},
    }
    rebuilt = rebuild(to_bytes(notebook), RELEASE).notebook
    assert set(cell_of(rebuilt, "why-scale").attachments) == {"plot.png"}


MISCHIEF = st.lists(
    st.tuples(
        st.sampled_from(["delete", "duplicate", "move", "strip", "retype", "blank"]),
        st.integers(0, 30),
        st.integers(0, 30),
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(MISCHIEF)
def test_no_mixture_of_accidents_stops_the_rebuilding(accidents):
    notebook = solved()
    for what, first, second in accidents:
        if not notebook.cells:
            break
        place = first % len(notebook.cells)
        cell = notebook.cells[place]
        if what == "delete":
            del notebook.cells[place]
        elif what == "duplicate":
            notebook.cells.insert(second % len(notebook.cells), nbformat.from_dict(dict(cell)))
        elif what == "move":
            notebook.cells.insert(second % len(notebook.cells), notebook.cells.pop(place))
        elif what == "strip":
            cell["metadata"] = nbformat.NotebookNode()
        elif what == "retype":
            cell["cell_type"] = "raw"
        else:
            cell["source"] = ""
    rebuilt = rebuild(to_bytes(notebook), RELEASE)
    if rebuilt.notebook is None:
        assert rebuilt.flags
    else:
        nbformat.validate(rebuilt.notebook)
        assert marks_of(rebuilt.notebook) == marks_of(RELEASE)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_stop_the_rebuilding(data):
    rebuilt = rebuild(data, RELEASE)
    assert rebuilt.notebook is None and rebuilt.flags


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["cells", "metadata", "nbgrader", "grade_id", "source", "outputs", "id"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=100, deadline=None)
@given(JSON, JSON)
def test_no_odd_json_in_a_cell_stops_the_rebuilding(metadata, outputs):
    notebook = dict(solved())
    notebook["cells"] = [
        {"cell_type": "code", "metadata": metadata, "source": "x = 1", "outputs": outputs},
        *notebook["cells"],
    ]
    rebuilt = rebuild(to_bytes(notebook), RELEASE)
    nbformat.validate(rebuilt.notebook)
    assert cell_of(rebuilt.notebook, "attend").source == handed_in.ATTEND


def test_thousands_of_scrambled_cells_are_not_all_compared(monkeypatch):
    """Each has the length of a given cell, and there are hundreds of those."""
    release, rng = release_notebook("03_attention"), random.Random(0)
    compared = []
    real = places.likeness_of
    monkeypatch.setattr(
        places, "likeness_of", lambda a, b: (compared.append(len(a) + len(b)), real(a, b))[1]
    )
    hostile = solved(release, {})
    hostile.cells = [c for c in hostile.cells if c.metadata.get("nbgrader", {}).get("solution")]
    texts = [c.source for c in release.cells if c.cell_type == "markdown" and len(c.source) > 200]
    # As many as a notebook may have: one with more characters is refused before.
    for number in range(900_000 * len(texts) // sum(map(len, texts))):
        text = texts[number % len(texts)]
        scrambled = "".join(rng.sample(text, len(text)))
        hostile.cells.append(nbformat.v4.new_markdown_cell(scrambled))
    rebuilt = rebuild(to_bytes(hostile), release)
    assert 0 < sum(compared) <= places.PATIENCE
    assert len([flag for flag in rebuilt.flags if "not all could be compared" in flag]) == 1
    assert marks_of(rebuilt.notebook) == marks_of(release)


def test_patience_that_ends_is_told_once():
    release = places.read_release(RELEASE)
    work = places.Work(release, read_document(to_bytes(solved())), patience=40)
    assert [work.likeness("abcdefgh", "abcdefgx", 0.8) > 0 for _ in range(4)] == [
        True,
        True,
        False,
        False,
    ]
    assert len([flag for flag in work.flags if "not all could be compared" in flag]) == 1


@pytest.mark.parametrize(
    ("changed", "alike"),
    [
        ("Write `attend`, which looks at every state. And more.", True),
        ("Write attend which looks at each state.", True),
        ("which looks at every state, write `attend`", True),
        ("ewoihtakl`d,etniWr  ecv to te.oettarsyshhakeieasl", False),
        ("Something else altogether, of the same length or so.", False),
        ("", False),
    ],
)
def test_changed_text_is_alike_and_scrambled_letters_are_not(changed, alike):
    text = "Write `attend`, which looks at every state."
    assert (places.likeness_of(changed, text) > 0.6) is alike


def points_after_grading(name: str, exercise: str, changed: dict[str, str], *added: str) -> float:
    """What the graded cells earn, when cells that contain a text were replaced and others added."""
    notebook = copy.deepcopy(release_notebook(name))
    for text, source in changed.items():
        (cell,) = [c for c in notebook.cells if c.cell_type == "code" and text in c.source]
        cell.source = source
    notebook.cells[3:3] = [nbformat.v4.new_code_cell(source) for source in added]
    rebuilt = rebuild(to_bytes(notebook), release_notebook(name))
    names = {"__name__": "__main__"}
    for cell in cells_to_run(rebuilt.notebook):
        if not cell.answer or cell.answer == exercise:
            exec(compile(cell.source, name, "exec"), names)
    return judge_here(judge.make_plan(exercise, judge.VISIBLE_SEEDS[:1]), names).points


STEPS = """
class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.join = nn.Linear(2 * hidden_size, hidden_size)

    def forward(self, query, states):
        context, weights = {}(query, states)
        return torch.tanh(self.join(torch.cat([context, query], dim=-1))), weights
"""
IN_THREE_LINES = """
def all_at_once(query, states):
    weights = torch.softmax(query @ states.transpose(1, 2), dim=-1)
    return weights @ states, weights


print(all_at_once(queries, states)[0].shape)
"""


@pytest.mark.parametrize("step", ["in_a_loop", "all_at_once"])
def test_an_answer_may_call_the_functions_of_given_cells_as_its_check_lets_it(step):
    changed = {"class DotProdAttention": STEPS.format(step), "def all_at_once": IN_THREE_LINES}
    assert points_after_grading("03_attention", "dot-prod-attention", changed) == 8


@pytest.mark.parametrize("in_its_cell", [True, False])
def test_a_wrong_part_that_was_brought_costs_nothing_when_graded(in_its_cell):
    brought = "from torch import nn\n\n\nclass MultiHeadAttention(nn.Module):\n    pass\n"
    call = 'bring_your_own("MultiHeadAttention", "causal_mask", "positional_encoding")'
    changed = {"class EncoderLayer": solution_source("encoder-layer")}
    if in_its_cell:
        changed[call] = f"{brought}\n\n{call}"
    added = [] if in_its_cell else [brought]
    assert points_after_grading("06_transformer", "encoder-layer", changed, *added) == 4
