"""The widgets with Colab's package versions, in classic notebook in a real browser."""

import numpy as np
import pytest

from course_utils.figures.numbers import shown
from tests.browser import open_classic, run_all_classic, wait_for_value, write_notebook
from tests.widgets.gallery import CELLS, DATA

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("classic")]

KEPT, LIVE = '[class*="cw-kept-"]', '[class*="cw-live-"]'
NAMES = list(CELLS)
VERSIONS = (
    "import ipywidgets, IPython\nprint('versions', ipywidgets.__version__, IPython.__version__)"
)


@pytest.fixture(scope="module")
def page(browser, classic_notebook):
    write_notebook(classic_notebook.folder / "gallery.ipynb", VERSIONS, DATA, *CELLS.values())
    page = open_classic(browser, classic_notebook, "gallery.ipynb")
    run_all_classic(page)
    page.wait_for_function(f"() => document.querySelectorAll('{LIVE}').length === {len(CELLS)}")
    yield page
    page.context.close()


def cell(page, name: str):
    return page.locator(".code_cell").nth(2 + NAMES.index(name))


def type_into(page, name: str, label: str, words: str) -> None:
    cell(page, name).get_by_label(label, exact=True).focus()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.type(words)
    page.keyboard.press("Tab")


def test_the_environment_is_the_one_of_colab(page):
    words = page.locator(".code_cell").first.locator(".output").inner_text()
    assert words.split()[-2:] == ["7.7.1", "7.34.0"]


def test_a_number_of_k_is_changed_by_keyboard_and_undone(page, screenshots):
    area = cell(page, "editor")
    output = area.locator(f"{LIVE} table").last
    before = output.inner_text()
    type_into(page, "editor", "K row 2 column 1", "-4")
    keys = np.array([[-2, 1, 0.5], [-4, 1.5, -0.5], [-1.5, 1, -0.5], [-2, -2.5, 1.5]])
    values = keys.copy()
    values[1, 0] = 1
    heights = np.exp(keys @ [-2, 1, -1] / np.sqrt(3))
    expected = [shown(value) for value in (heights / heights.sum() @ values).tolist()]
    output.get_by_text(expected[0], exact=True).wait_for()
    assert output.inner_text().split()[-3:] == expected
    area.screenshot(path=screenshots / "classic_editor.png")
    area.get_by_role("button", name="Undo").focus()
    page.keyboard.press("Space")
    output.get_by_text(expected[0], exact=True).wait_for(state="detached")
    assert output.inner_text() == before


def test_bad_input_is_explained_and_the_picture_stays(page):
    area = cell(page, "editor")
    before = area.locator(LIVE).inner_text()
    type_into(page, "editor", "V row 1 column 1", "abc")
    area.get_by_text("V row 1 column 1 contains 'abc'").wait_for()
    assert area.locator(LIVE).inner_text() == before
    type_into(page, "editor", "V row 1 column 1", "-2")
    area.get_by_text("V row 1 column 1 contains").wait_for(state="detached")


def test_a_challenge_is_solved(page, screenshots):
    area = cell(page, "challenge")
    for column, value in enumerate(("10", "10", "-10", "-10"), 1):
        type_into(page, "challenge", f"Q row 1 column {column}", value)
    area.locator(LIVE).get_by_text("Solved").wait_for()
    area.screenshot(path=screenshots / "classic_challenge.png")
    line = 'challenge_answers["copy-one"] = {"Q": [[10, 10, -10, -10], [0, 0, 0, 0]]}\n'
    wait_for_value(area.get_by_label("Copy to your answer"), line)


def test_every_widget_is_drawn_once_and_nothing_scrolls(page, screenshots):
    for name in NAMES:
        area = cell(page, name)
        assert area.locator(LIVE).is_visible() and area.locator(KEPT).is_hidden(), name
        area.screenshot(path=screenshots / f"classic_{name}.png")
    scrolling = page.evaluate(
        "() => [...document.querySelectorAll('.cw')]"
        ".filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.className)"
    )
    assert scrolling == []


@pytest.mark.thorough
def test_reopened_without_a_kernel_the_last_pictures_are_still_there(
    page, browser, classic_notebook, screenshots
):
    page.evaluate("Jupyter.notebook.save_notebook()")
    page.wait_for_function("() => !Jupyter.notebook.dirty")
    page.evaluate("new Promise(done => Jupyter.notebook.session.delete(done, done))")
    again = open_classic(browser, classic_notebook, "gallery.ipynb")
    again.wait_for_timeout(1000)
    for name in NAMES:
        area = cell(again, name)
        assert area.locator(KEPT).is_visible(), name
    assert "Solved" in cell(again, "challenge").locator(KEPT).inner_text()
    cell(again, "challenge").screenshot(path=screenshots / "classic_reopened.png")
    again.context.close()
