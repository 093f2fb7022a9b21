"""The widgets in JupyterLab, in a real browser, used from the keyboard alone."""

import json
import urllib.request

import nbformat
import numpy as np
import pytest
from nbconvert import HTMLExporter

from course_utils.figures.numbers import shown
from course_utils.figures.theme import DARK
from tests.browser import (
    PATIENCE,
    new_page,
    open_and_run,
    open_lab,
    save,
    set_lab_theme,
    wait_for_value,
    write_notebook,
)
from tests.widgets.gallery import CELLS, DATA

# One worker for all of it: they share a server and a page.
pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("jupyterlab")]

KEPT, LIVE = '[class*="cw-kept-"]', '[class*="cw-live-"]'
NAMES = list(CELLS)

# Every text with its contrast, in pictures and controls: blends backgrounds from the page upwards.
CONTRASTS = """() => {
    const read = c => {
        const v = c.match(/[\\d.]+/g).map(Number)
        return v.length < 4 ? [...v, 1] : v
    }
    const over = (top, low) => [0, 1, 2].map(i => top[3] * top[i] + (1 - top[3]) * low[i])
    const light = c => {
        const l = c.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2]
    }
    const found = []
    const measure = (element, words) => {
        if (!words || element.tagName === 'STYLE' || !element.getClientRects().length) return
        const style = getComputedStyle(element)
        let paper = [255, 255, 255]
        const chain = []
        for (let e = element; e; e = e.parentElement) chain.unshift(e)
        for (const e of chain) paper = over(read(getComputedStyle(e).backgroundColor), paper)
        const ink = over(read(element.closest('svg') ? style.fill : style.color), paper)
        const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x)
        found.push([(a + 0.05) / (b + 0.05), words, element.tagName])
    }
    for (const cw of document.querySelectorAll('.cw')) {
        const walker = document.createTreeWalker(cw, NodeFilter.SHOW_TEXT)
        while (walker.nextNode())
            measure(walker.currentNode.parentElement, walker.currentNode.data.trim())
    }
    const controls = '.widget-label, .cw-cell input, .jupyter-widgets button:enabled, ' +
        '.jupyter-widgets select:enabled, .jupyter-widgets input[type=text]:enabled'
    for (const control of document.querySelectorAll(controls))
        measure(control, control.value || control.innerText.trim())
    return found
}"""

# Text that leaves its drawing, or lies over other text of the same drawing.
OVERLAPS = """() => {
    const problems = []
    for (const svg of document.querySelectorAll('.cw svg')) {
        if (!svg.getClientRects().length) continue
        const frame = svg.getBoundingClientRect()
        const texts = [...svg.querySelectorAll('text')].filter(t => t.textContent.trim())
        const turned = t => t.hasAttribute('transform')
        const boxes = texts.map(t => t.getBoundingClientRect())
        boxes.forEach((box, i) => {
            if (box.left < frame.left - 1 || box.right > frame.right + 1 ||
                box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
                problems.push('cut: ' + texts[i].textContent)
            for (let j = 0; j < i; j++) {
                if (turned(texts[i]) || turned(texts[j])) continue
                const other = boxes[j]
                const wide = Math.min(box.right, other.right) - Math.max(box.left, other.left)
                const high = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top)
                if (wide > 1 && high > 4)
                    problems.push('overlap: ' + texts[i].textContent + ' / ' + texts[j].textContent)
            }
        })
    }
    for (const cw of document.querySelectorAll('.cw'))
        if (cw.scrollWidth > cw.clientWidth + 1) problems.push('scroll bar: ' + cw.className)
    for (const input of document.querySelectorAll('.cw-cell input'))
        if (input.scrollWidth > input.clientWidth + 1) problems.push('cut field: ' + input.value)
    for (const button of document.querySelectorAll('.jupyter-widgets button, button.jupyter-widgets'))
        if (!button.innerText.includes('\u2003') && button.scrollWidth > button.clientWidth + 1)
            problems.push('cut button: ' + button.innerText)
    const pen = document.createElement('canvas').getContext('2d')
    for (const menu of document.querySelectorAll('.cw-menu select')) {
        const style = getComputedStyle(menu), arrow = 20
        pen.font = style.font
        const room = menu.clientWidth - parseFloat(style.paddingLeft) - arrow
        for (const option of menu.options)
            if (pen.measureText(option.text).width > room) problems.push('cut menu: ' + option.text)
    }
    return problems
}"""


@pytest.fixture(scope="module")
def page(browser, jupyter_lab):
    write_notebook(jupyter_lab.folder / "gallery.ipynb", DATA, *CELLS.values())
    # High enough for the largest cell, so that no screenshot is cut by the window.
    page = open_and_run(browser, jupyter_lab, "gallery.ipynb", height=2100)
    page.wait_for_function(f"() => document.querySelectorAll('{LIVE}').length === {len(CELLS)}")
    yield page
    page.context.close()


def cell(page, name: str):
    return page.locator(".jp-CodeCell").nth(1 + NAMES.index(name))


def output_numbers(page, name: str) -> str:
    """The last table of a picture: the output."""
    return cell(page, name).locator(f"{LIVE} table").last.inner_text()


def type_into(page, name: str, label: str, words: str) -> None:
    """Focus a field as Tab would, and replace its number with the keyboard."""
    cell(page, name).get_by_label(label, exact=True).focus()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.type(words)
    page.keyboard.press("Tab")


def wait_for_change(page, name: str, before: str) -> str:
    page.wait_for_function(
        """([cell, selector, before]) => {
            const tables = document.querySelectorAll('.jp-CodeCell')[cell].querySelectorAll(selector)
            return tables[tables.length - 1].innerText !== before
        }""",
        arg=[1 + NAMES.index(name), f"{LIVE} table", before],
    )
    return output_numbers(page, name)


def expected_output(k2: float) -> list[float]:
    """The first question again, with another first number in the second key."""
    X = np.array([[-2, 1, 0.5], [k2, 1.5, -0.5], [-1.5, 1, -0.5], [-2, -2.5, 1.5]])
    V = X.copy()
    V[1, 0] = 1.0
    heights = np.exp(X @ [-2.0, 1.0, -1.0] / np.sqrt(3))
    return (heights / heights.sum() @ V).tolist()


def test_a_number_of_k_is_reached_and_changed_by_keyboard_alone(page, screenshots):
    area = cell(page, "editor")
    area.get_by_label("Start from").focus()
    for _ in range(40):
        page.keyboard.press("Tab")
        label = page.evaluate("document.activeElement.labels?.[0]?.innerText ?? ''")
        if label == "K row 2 column 1":
            break
    assert label == "K row 2 column 1"
    before = output_numbers(page, "editor")
    page.keyboard.press("Control+a")
    page.keyboard.type("-4")
    page.keyboard.press("Enter")
    after = wait_for_change(page, "editor", before)
    area.screenshot(path=screenshots / "editor_after_edit.png")
    assert after.split()[-3:] == [shown(value) for value in expected_output(k2=-4.0)]

    area.get_by_role("button", name="Undo").focus()
    page.keyboard.press("Enter")
    assert wait_for_change(page, "editor", after) == before
    wait_for_value(area.get_by_label("K row 2 column 1"), "1")
    area.get_by_role("button", name="Redo").focus()
    page.keyboard.press("Enter")
    assert wait_for_change(page, "editor", before) == after
    area.get_by_role("button", name="Reset").focus()
    page.keyboard.press("Enter")
    assert wait_for_change(page, "editor", after) == before


def test_a_long_number_widens_its_matrix_and_the_next_field_keeps_the_focus(page):
    area = cell(page, "editor")
    before = output_numbers(page, "editor")
    box = area.get_by_label("K row 3 column 1", exact=True)
    narrow = box.bounding_box()["width"]
    type_into(page, "editor", "K row 3 column 1", "-1.23456789")
    after = wait_for_change(page, "editor", before)
    assert box.bounding_box()["width"] > narrow
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth + 1")
    label = page.evaluate("document.activeElement.labels?.[0]?.innerText ?? ''")
    assert label == "K row 3 column 2"
    type_into(page, "editor", "K row 3 column 1", "-1.5")
    assert wait_for_change(page, "editor", after) == before
    assert box.bounding_box()["width"] == narrow


def test_what_belongs_together_stands_level(page):
    """Fields under titles with and without an index; a row of the weights and of the output."""
    area = cell(page, "two_heads")
    fields = [f"{name} row 1 column 1" for name in ("X", "W_Q", "W_V2")]
    tops = [area.get_by_label(label, exact=True).bounding_box()["y"] for label in fields]
    assert max(tops) - min(tops) < 1
    tables = cell(page, "editor").locator(f"{LIVE} table")
    rows = [tables.nth(i).locator("tbody th").first.bounding_box()["y"] for i in range(4)]
    assert max(rows) - min(rows) < 1


@pytest.mark.parametrize("typed", ["abc", "", "1e308", "NaN"])
def test_a_bad_number_is_explained_beside_the_last_good_picture(page, typed, screenshots):
    area = cell(page, "editor")
    before = area.locator(LIVE).inner_text()
    type_into(page, "editor", "V row 1 column 1", typed)
    alert = area.get_by_role("alert").filter(has_text="V row 1 column 1")
    alert.wait_for()
    area.screenshot(path=screenshots / f"bad_input_{typed or 'empty'}.png")
    assert area.locator(LIVE).inner_text() == before
    type_into(page, "editor", "V row 1 column 1", "-2")
    alert.wait_for(state="detached")


def test_a_challenge_is_solved_by_keyboard_and_its_distance_is_live(page, screenshots):
    area = cell(page, "challenge")
    assert "Distance 1.75" in area.locator(LIVE).inner_text()
    type_into(page, "challenge", "Q row 1 column 1", "10")
    area.locator(LIVE).get_by_text("Distance").wait_for()
    for column, value in ((2, "10"), (3, "-10"), (4, "-10")):
        type_into(page, "challenge", f"Q row 1 column {column}", value)
    area.locator(LIVE).get_by_text("Solved").wait_for()
    area.screenshot(path=screenshots / "challenge_solved.png")
    line = 'challenge_answers["copy-one"] = {"Q": [[10, 10, -10, -10], [0, 0, 0, 0]]}\n'
    wait_for_value(area.get_by_label("Copy to your answer"), line)
    assert area.get_by_label("K row 1 column 1").is_disabled()
    area.get_by_role("button", name="Undo").focus()
    page.keyboard.press("Enter")
    area.locator(LIVE).get_by_text("Solved").wait_for(state="detached")
    area.get_by_role("button", name="Redo").focus()
    page.keyboard.press("Enter")
    area.locator(LIVE).get_by_text("Solved").wait_for()


def test_the_mask_is_set_with_the_keyboard_and_a_hidden_row_says_so(page):
    area = cell(page, "eight_by_eight")
    button = area.get_by_role("button", name="query 1, key 1")
    assert button.inner_text().startswith("on")
    button.focus()
    page.keyboard.press("Space")
    area.locator(LIVE).get_by_text("hides every key from row 1").wait_for()
    assert "NaN" not in area.locator(LIVE).inner_text()
    button.focus()
    page.keyboard.press("Space")
    area.locator(LIVE).get_by_text("hides every key from row 1").wait_for(state="detached")


def test_menus_of_the_explorers_change_their_pictures(page):
    for name, label, option, words in (
        ("softmax", "d", "1", "A useful gradient"),
        ("position", "Base", "10", "Pair 0"),
        ("attention_row", "Show", "3 walks", "walks looks at"),
        ("bottleneck", "Message", "8 bits", "keep the first"),
        ("beam", "Step", "2 of 9", "hypotheses at step 2"),
    ):
        area = cell(page, name)
        area.get_by_label(label, exact=True).select_option(label=option)
        area.locator(LIVE).get_by_text(words).first.wait_for()
    area = cell(page, "permutation")
    area.get_by_label("add positions").focus()
    page.keyboard.press("Space")
    area.locator(LIVE).get_by_text("moved with their tokens, unchanged").wait_for()


@pytest.mark.parametrize("theme", ["Light", pytest.param("Dark", marks=pytest.mark.thorough)])
def test_all_texts_can_be_read_nothing_overlaps_and_nothing_is_cut(page, theme, screenshots):
    set_lab_theme(page, f"JupyterLab {theme}")
    found = page.evaluate(CONTRASTS)
    assert len(found) > 1000
    assert [entry for entry in found if entry[0] < 4.5] == []
    assert page.evaluate(OVERLAPS) == []
    arrow = page.locator(".cw-menu select").first.evaluate(
        "m => getComputedStyle(m).backgroundImage"
    )
    assert (DARK["ink"].strip("#") in arrow) == (theme == "Dark")
    for name in NAMES:
        cell(page, name).screenshot(path=screenshots / f"{name}_{theme.lower()}.png")


def test_on_a_narrow_page_sentences_wrap_and_only_drawings_and_tables_scroll(page, screenshots):
    size = page.viewport_size
    page.set_viewport_size({"width": 400, "height": 2600})
    too_wide = page.evaluate(
        """() => [...document.querySelectorAll('.cw, .cw p')]
            .filter(e => e.getClientRects().length && e.getBoundingClientRect().right > innerWidth)
            .map(e => e.innerText.slice(0, 40))"""
    )
    cell(page, "softmax").screenshot(path=screenshots / "softmax_narrow.png")
    small = page.evaluate(
        """() => [...document.querySelectorAll('.cw svg')].filter(e => e.getClientRects().length)
            .map(e => e.getBoundingClientRect().width / e.viewBox.baseVal.width)
            .filter(shrunk => shrunk < 0.74)"""
    )
    page.set_viewport_size(size)
    assert too_wide == [] and small == []


def test_saved_and_reopened_without_a_kernel_the_last_pictures_are_still_there(
    page, browser, jupyter_lab, screenshots
):
    type_into(page, "editor", "Q row 1 column 1", "3.25")
    cell(page, "editor").locator(LIVE).get_by_text("−6", exact=True).first.wait_for()
    assert cell(page, "editor").locator(KEPT).is_hidden()
    save(page)
    saved = jupyter_lab.folder / "reopened.ipynb"
    saved.write_bytes((jupyter_lab.folder / "gallery.ipynb").read_bytes())
    _stop_kernels(jupyter_lab)
    again = open_lab(browser, jupyter_lab, "reopened.ipynb")
    again.wait_for_function(f"() => document.querySelectorAll('{KEPT}').length === {len(CELLS)}")
    again.wait_for_timeout(1500)
    assert again.locator(LIVE).count() == 0
    for name in NAMES:
        area = cell(again, name)
        assert area.locator(KEPT).is_visible(), name
        assert "Error displaying widget" not in area.inner_text(), name
    assert "3.25" in cell(again, "editor").locator(KEPT).inner_text()
    cell(again, "editor").screenshot(path=screenshots / "reopened_without_kernel.png")
    again.context.close()


def test_an_html_export_shows_the_last_pictures(page, browser, jupyter_lab, screenshots):
    save(page)
    notebook = jupyter_lab.folder / "gallery.ipynb"
    assert "widgets" not in nbformat.read(notebook, 4).metadata
    html, _ = HTMLExporter().from_filename(str(notebook))
    notebook.with_suffix(".html").write_text(html)
    export = new_page(browser)
    # The export asks for mathematics from the network, which is not needed here.
    export.route("http*://**", lambda route: route.abort())
    export.goto(notebook.with_suffix(".html").as_uri(), wait_until="domcontentloaded")
    assert export.locator(KEPT).count() == len(CELLS)
    assert all(export.locator(KEPT).nth(i).is_visible() for i in range(len(CELLS)))
    assert "interactive while a kernel runs" not in export.locator("body").inner_text()
    export.screenshot(path=screenshots / "html_export.png")
    export.context.close()


def _stop_kernels(server) -> None:
    def ask(path: str, method: str = "GET") -> bytes:
        request = urllib.request.Request(
            f"{server.address}{path}",
            method=method,
            headers={"Authorization": f"token {server.token}"},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.read()

    for session in json.loads(ask("/api/sessions")):
        ask(f"/api/sessions/{session['id']}", "DELETE")
