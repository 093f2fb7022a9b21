"""The way of a new student in JupyterLab, from the published copy: read, try, fail, mend, go on.

Notebook 01 has its own test of this kind, in tests/notebook_01.
"""

import sys
from pathlib import Path

import pytest

from autograder.publish import publish
from autograder.solutions import solution_source
from course_utils import register
from tests.browser import new_page, open_lab, save, serve

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("students")]

WIDE, NARROW = 1300, 400
NOTEBOOKS = {entry.name[:2]: entry.name for entry in register.notebooks()}
PARTS = ("multi-head-attention", "causal-mask", "positional-encoding")

# The place of a cell, by its exercise or by a text that it contains.
PLACE = """wanted => {
    const cells = jupyterapp.shell.currentWidget.content.widgets
    const graded = cells.findIndex(c => c.model.getMetadata('nbgrader')?.grade_id === wanted)
    return graded >= 0 ? graded : cells.findIndex(
        c => c.model.type === 'code' && c.model.sharedModel.getSource().includes(wanted))
}"""
# A cell that was run before keeps its number until the kernel answers.
FORGET_NUMBER = (
    "i => { jupyterapp.shell.currentWidget.content.widgets[i].model.executionCount = null }"
)
HAS_RUN = """i => {
    const panel = jupyterapp.shell.currentWidget
    return panel.content.widgets[i].model.executionCount !== null &&
        panel.sessionContext.session?.kernel?.status === 'idle'
}"""
# What a reader of an output would have to scroll for, apart from drawings and tables of numbers.
CUT = """output => [output, ...output.querySelectorAll('*')]
    .filter(e => !e.closest('svg, .pair') && e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 2)
    .map(e => e.tagName + ' ' + e.innerText.slice(0, 60))"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab over the copy that students get, which is all that its kernels can import."""
    folder = tmp_path_factory.mktemp("students") / "course"
    publish(folder)
    log = tmp_path_factory.mktemp("students-private") / "server.log"
    with serve(folder, Path(sys.executable), "jupyterlab", log, course=folder) as server:
        yield server


@pytest.fixture
def notebook(browser, lab):
    """Opens a notebook by its number, sets the shortest budget and runs the first cells."""
    pages = []

    def open_notebook(number: str):
        page = new_page(browser, width=WIDE, height=1600)
        pages.append(page)
        open_lab(browser, lab, f"notebooks/{NOTEBOOKS[number]}.ipynb", page=page)
        if page.evaluate(PLACE, 'budget = "quick"') >= 0:
            type_into(page, 'budget = "quick"', 'budget = "smoke"')
            run(page, 'budget = "smoke"')
        run(page, "from course_utils import")
        return page

    yield open_notebook
    for page in pages:
        page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.shutdown()")
        page.context.close()


def cell(page, wanted: str):
    place = page.evaluate(PLACE, wanted)
    assert place >= 0, wanted
    return page.locator(".jp-Notebook .jp-Cell").nth(place)


def type_into(page, wanted: str, source: str) -> None:
    cell(page, wanted).locator(".jp-InputArea-editor .cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(source)


def run(page, wanted: str) -> str:
    """Run a cell with the keyboard; returns what it shows."""
    place = page.evaluate(PLACE, wanted)
    page.evaluate(FORGET_NUMBER, place)
    cell(page, wanted).locator(".jp-InputArea-editor .cm-content").click()
    page.keyboard.press("Shift+Enter")
    page.wait_for_function(HAS_RUN, arg=place)
    return "\n".join(cell(page, wanted).locator(".jp-OutputArea-output").all_inner_texts())


def answer(page, exercise: str, source: str) -> str:
    """Write an answer, run it, run its check; returns what the check shows."""
    type_into(page, exercise, source)
    run(page, exercise)
    return run(page, f"{exercise}-check")


def write_words(page, exercise: str, words: str) -> None:
    cell(page, exercise).dblclick()
    cell(page, exercise).locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(words)
    page.keyboard.press("Shift+Enter")


def fits_a_phone(page, wanted: str, picture: Path) -> list[str]:
    """Take a picture of a cell at both widths; returns what is cut off at the narrow one."""
    cell(page, wanted).screenshot(path=picture.with_stem(f"{picture.stem}_{WIDE}"))
    page.set_viewport_size({"width": NARROW, "height": 1600})
    page.wait_for_timeout(300)
    cell(page, wanted).screenshot(path=picture.with_stem(f"{picture.stem}_{NARROW}"))
    cut = cell(page, wanted).locator(".jp-OutputArea-output").first.evaluate(CUT)
    page.set_viewport_size({"width": WIDE, "height": 1600})
    return cut


@pytest.mark.thorough
def test_00_a_first_module_fails_passes_is_saved_and_counted(notebook, screenshots):
    page = notebook("00")
    assert "✗" not in run(page, "environment_check()")
    wrong = solution_source("first-module").replace("super().__init__()", "pass")
    said = answer(page, "first-module", wrong)
    assert "Begin __init__ with super().__init__()." in said and "Where to look" not in said
    assert "Where to look" in answer(page, "first-module", wrong)
    assert "A smaller case" in answer(page, "first-module", wrong)
    assert fits_a_phone(page, "first-module-check", screenshots / "00_module.png") == []
    for exercise in ("weighted-average", "first-module"):
        assert "everything is right" in answer(page, exercise, solution_source(exercise))
    unsaved = run(page, "progress()")
    assert "not checked yet" in unsaved and "save (Ctrl+S) and run this cell again" in unsaved
    assert "is not what you ran last" in run(page, "ready_to_submit(")
    save(page)
    assert "2 of 2\tnothing\t2 of 2" in run(page, "progress()")
    assert "The saved file is in order." in run(page, "ready_to_submit(")
    for name in ("progress()", "ready_to_submit("):
        assert fits_a_phone(page, name, screenshots / f"00_{name.split('(')[0]}.png") == []


@pytest.mark.thorough
def test_03_small_steps_lead_to_a_module_that_trains(notebook, screenshots):
    page = notebook("03")
    for given in ("from IPython.display", "plain = reversal", "without = ", "def in_a_loop"):
        run(page, given)
    place = page.evaluate(PLACE, "def all_at_once")
    stub = page.evaluate(
        "i => jupyterapp.shell.currentWidget.content.widgets[i].model.sharedModel.getSource()",
        place,
    )
    assert "weights: not written yet" in run(page, "def all_at_once")
    scores = "torch.softmax(query @ states.transpose(1, 2), dim={})"
    for axis, shown in ((1, "they differ by up to"), (-1, "the same")):
        tried = stub.replace("weights = None", f"weights = {scores.format(axis)}")
        type_into(page, "def all_at_once", tried.replace("= None", "= weights @ states"))
        assert shown in run(page, "def all_at_once")
    right = solution_source("dot-prod-attention")
    crash = answer(page, "dot-prod-attention", right.replace("states.transpose(1, 2)", "states"))
    assert "In a product, [B, T, D] meets [B, S, D]" in crash
    assert "softmax runs over the queries" in answer(
        page, "dot-prod-attention", right.replace("dim=-1)  # each row", "dim=1)  # each row")
    )
    assert fits_a_phone(page, "dot-prod-attention-check", screenshots / "03_axis.png") == []
    assert "8 of 8 points" in answer(page, "dot-prod-attention", right)
    run(page, "attentive = reversal")
    assert "with attention" in run(page, "with_attention = ")
    run(page, "display(attention_map(rows")
    assert cell(page, "display(attention_map(rows").locator("svg").first.is_visible()
    write_words(page, "reversal-map", "It runs backwards, because the last letter comes first.")
    save(page)
    said = run(page, "ready_to_submit(")
    assert "The saved file is in order." in said and "Check yourself" in said


@pytest.mark.thorough
def test_05_to_07_parts_go_along_and_a_wrong_one_is_refused(notebook, screenshots):
    page = notebook("05")
    for exercise in PARTS:
        assert "everything is right" in answer(page, exercise, solution_source(exercise))
    save(page)
    own = {exercise: solution_source(exercise) for exercise in PARTS}

    page = notebook("06")
    call = 'bring_your_own("MultiHeadAttention", "causal_mask", "positional_encoding")'
    assert run(page, call).count("because you pasted nothing") == 3
    pasted = "\n\n".join(own.values())
    type_into(page, call, f"{pasted.replace('* d**-0.5', '* D**-0.5')}\n\n{call}")
    said = run(page, call)
    assert "yours is not right yet" in said and "The scale is the square root of d_model" in said
    type_into(page, call, f"{pasted}\n\n{call}")
    assert run(page, call).count("using yours") == 3
    cell(page, call).screenshot(path=screenshots / "06_bring_your_own.png")
    encoder = solution_source("encoder-layer")
    assert "a call that gives two results" in answer(
        page,
        "encoder-layer",
        encoder.replace("looked, _ =", "looked =").replace(
            "dropout(looked)", "dropout(x) + looked"
        ),
    )
    assert "4 of 4 points" in answer(page, "encoder-layer", encoder)
    save(page)

    page = notebook("07")
    call = 'bring_your_own("MultiHeadAttention")'
    type_into(page, call, f"{own['multi-head-attention']}\n\n{call}")
    assert "using yours. It passes its check from notebook 05." in run(page, call)
    for exercise in ("decoder-only-model", "shifted-targets"):
        assert "everything is right" in answer(page, exercise, solution_source(exercise))
    for given in ("standard_library()", "bigram_bits(", "train_on_bytes("):
        said = run(page, given)
    assert "parameters" in said
    run(page, "import as_tokens")
    cached = "cached-self-attention"
    assert "4 of 4 points" in answer(page, cached, solution_source(cached))
    first, _, text = run(page, "import write\n").partition("\n")
    assert first == "the same text: True" and text.strip()
    assert run(page, "# `first` is forgotten").strip()
    save(page)


@pytest.mark.thorough
def test_08_a_wrong_sign_is_named_and_progress_counts_all_that_was_saved(notebook, screenshots):
    page = notebook("08")
    right = solution_source("rotary-positions")
    said = answer(page, "rotary-positions", right.replace("+ other * cos", "- other * cos"))
    assert "not yet right" in said and "Expected" in said
    assert fits_a_phone(page, "rotary-positions-check", screenshots / "08_rotate.png") == []
    assert "3 of 3 points" in answer(page, "rotary-positions", right)
    save(page)
    said = run(notebook("00"), "progress()")
    assert "2 of 2\tnothing" in said and "3 of 8" in said.split("08 ·")[1]
    assert "MultiHeadAttention" not in said and "EncoderLayer" not in said
