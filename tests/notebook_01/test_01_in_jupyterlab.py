"""Notebook 01 as a student meets it: JupyterLab in a real browser, answers typed, widgets moved."""

import shutil

import pytest

from autograder.build import NOTEBOOKS
from course_utils import register
from tests.browser import open_and_run, wait_for_value, wait_idle

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("notebook_01")]

LIVE = '[class*="cw-live-"]'
NAME = "01_pen_and_paper.ipynb"
RIGHT = """scores = [2.598, 0, 2.598, 0]
probabilities = [0.465, 0.035, 0.465, 0.035]
output = [-1.663, 0.896, 0.035]
"""
UNSCALED = """scores = [4.5, 0, 4.5, 0]
probabilities = [0.495, 0.005, 0.495, 0.005]
output = [-1.736, 0.980, 0.005]
"""
COPY = "def copy_query(keys, j):\n    return {} * keys[j]\n"


@pytest.fixture(scope="module")
def page(browser, jupyter_lab):
    shutil.copy(NOTEBOOKS / NAME, jupyter_lab.folder / NAME)
    page = open_and_run(browser, jupyter_lab, NAME, height=1600)
    yield page
    page.context.close()


def cell(page, words: str):
    """The code cell whose text holds these words."""
    return page.locator(".jp-CodeCell").filter(
        has=page.locator(".jp-InputArea-editor").filter(has_text=words)
    )


def write(page, words: str, source: str) -> None:
    """Replace the text of a cell and run it, then its check below."""
    target = cell(page, words)
    target.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(source)
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    wait_idle(page)


def verdict(page, exercise: str) -> str:
    panel = cell(page, f'check("{exercise}")').first.locator(".attn-panel")
    panel.wait_for()
    return panel.inner_text()


def replace_number(page, area, label: str, number: str) -> None:
    area.get_by_label(label, exact=True).focus()
    page.keyboard.press("Control+a")
    page.keyboard.type(number)
    page.keyboard.press("Tab")


def test_the_notebook_as_handed_out_runs_to_the_end_without_an_error(page, screenshots):
    page.screenshot(path=screenshots / "notebook_01_top.png")
    errors = page.locator('[data-mime-type="application/vnd.jupyter.error"]')
    assert errors.count() == 0, errors.all_inner_texts()
    assert page.locator(LIVE).count() == 10
    assert "0 of 2 points" in verdict(page, "single-query-numbers")
    checked = sum(e.points for e in register.exercises("01_pen_and_paper") if e.checked)
    assert f"0 of {checked:g} points" in page.locator(".jp-OutputArea").last.inner_text()


def test_a_number_of_k_moves_the_output_and_undo_brings_it_back(page, screenshots):
    area = cell(page, "attention_editor(Q=[query]")
    output = area.locator(f"{LIVE} table").last
    before = output.inner_text()
    replace_number(page, area, "K row 2 column 1", "-4")
    page.wait_for_function(
        "([element, text]) => element.isConnected === false || element.innerText !== text",
        arg=[output.element_handle(), before],
    )
    after = area.locator(f"{LIVE} table").last.inner_text()
    area.screenshot(path=screenshots / "notebook_01_editor.png")
    assert after != before
    area.get_by_role("button", name="Undo").click()
    area.locator(f"{LIVE} table").last.get_by_text(before.split()[-1], exact=True).wait_for()
    assert area.locator(f"{LIVE} table").last.inner_text() == before


def test_a_challenge_is_solved_and_its_line_handed_in_with_the_keyboard(page, screenshots):
    area = cell(page, 'attention_editor(challenge="copy-one")')
    assert "Distance" in area.locator(LIVE).inner_text()
    for column, number in enumerate(("10", "10", "-10", "-10"), 1):
        replace_number(page, area, f"Q row 1 column {column}", number)
    area.locator(LIVE).get_by_text("Solved").wait_for()
    line = 'challenge_answers["copy-one"] = {"Q": [[10, 10, -10, -10], [0, 0, 0, 0]]}\n'
    wait_for_value(area.get_by_label("Copy to your answer"), line)
    area.screenshot(path=screenshots / "notebook_01_challenge.png")
    area.get_by_role("button", name="Undo").click()
    area.locator(LIVE).get_by_text("Solved").wait_for(state="detached")

    area.get_by_label("Copy to your answer").focus()
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+c")
    answer = cell(page, "challenge_answers = {}")
    answer.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+v")
    answer.locator(".cm-content").get_by_text('challenge_answers["copy-one"]').wait_for()
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    wait_idle(page)
    said = verdict(page, "editor-challenges")
    answer.screenshot(path=screenshots / "01_challenge_answer.png")
    cell(page, 'check("editor-challenges")').screenshot(path=screenshots / "01_challenge_check.png")
    assert "0.25 of 2 points" in said and '["average-two"] is missing' in said


def test_a_wrong_answer_is_named_and_a_right_one_gets_its_points(page, screenshots):
    write(page, "probabilities = [", UNSCALED)
    said = verdict(page, "single-query-numbers")
    cell(page, 'check("single-query-numbers")').screenshot(path=screenshots / "01_wrong.png")
    assert "Your scores are not scaled" in said and "0 of 2 points" in said
    write(page, "probabilities = [", RIGHT)
    said = verdict(page, "single-query-numbers")
    cell(page, 'check("single-query-numbers")').screenshot(path=screenshots / "01_right.png")
    assert "everything is right (2 of 2 points)" in said


def test_a_function_is_judged_by_what_its_query_does(page, screenshots):
    write(page, "def copy_query", COPY.format("1.0"))
    said = verdict(page, "copy-query")
    cell(page, 'check("copy-query")').screenshot(path=screenshots / "01_copy_wrong.png")
    assert "nothing makes the query long" in said
    write(page, "def copy_query", COPY.format("100 * keys.shape[1] ** 0.5"))
    assert "2 of 2 points" in verdict(page, "copy-query")


def test_nothing_in_the_notebook_is_wider_than_its_place(page):
    """No output runs out of its cell to the right, where a student would have to scroll."""
    cut = page.evaluate(
        """() => [...document.querySelectorAll('.jp-OutputArea-output')]
            .filter(o => o.scrollWidth > o.clientWidth + 2)
            .map(o => o.closest('.jp-Cell').innerText.slice(0, 80))"""
    )
    assert cut == []
