"""Wherever the page is shown: its own window, a phone, a frame, a notebook; light and dark."""

import pytest
from nbformat import read

from course_utils import playground as package
from tests.browser import new_page, open_and_run, save, set_lab_theme, write_notebook
from tests.playground.conftest import ADDRESS
from tests.playground.using import begin, centre, put, state

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("jupyterlab")]

PRESETS = ["four", "same", "twins", "middle", "loud", "pair", "noisy"]
CHALLENGES = ["free", "copy", "average", "mask", "temperature", "reach", "noise"]

# Every visible text of the playground with its contrast; backgrounds blend from the page upwards.
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
    const found = [], { root, host } = attentionPlayground.instances[0]
    for (const animation of root.getAnimations()) animation.finish()
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) {
        const words = walker.currentNode.data.trim(), element = walker.currentNode.parentElement
        if (!words || ['STYLE', 'OPTION'].includes(element.tagName) || !element.getClientRects().length)
            continue
        let paper = [255, 255, 255]
        const chain = []
        for (let e = element; e; e = e.parentElement ?? (root.contains(e) ? host : null)) chain.unshift(e)
        for (const e of chain) paper = over(read(getComputedStyle(e).backgroundColor), paper)
        const style = getComputedStyle(element)
        const ink = over(read(element.closest('svg') ? style.fill : style.color), paper)
        const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x)
        found.push([(a + 0.05) / (b + 0.05), words])
    }
    return found
}"""

# Whatever reaches beyond the window, or is cut off in its box.
# The words and numbers of the table that are wider than the cell they are in.
OUTSIDE_THEIR_CELL = """() => {
    const { root } = attentionPlayground.instances[0]
    const range = document.createRange()
    return [...root.querySelectorAll('table th, table td')].flatMap(cell => {
        range.selectNodeContents(cell)
        const [inside, outside] = [range.getBoundingClientRect(), cell.getBoundingClientRect()]
        const fits = inside.left >= outside.left - 0.5 && inside.right <= outside.right + 0.5
        return fits ? [] : [cell.innerText]
    })
}"""
TOO_WIDE = """() => {
    const { root } = attentionPlayground.instances[0]
    const wide = [...root.querySelectorAll('.page *:not(svg *)')].filter(node =>
        node.getClientRects().length && !node.closest('.spoken')
        && (node.getBoundingClientRect().right > innerWidth + 0.5
            || (node.matches('td, th, .scores, button, label') && node.scrollWidth > node.clientWidth + 1)))
    return wide.map(node => `${node.tagName}.${node.className}: ${node.textContent.trim().slice(0, 40)}`)
        .concat(document.documentElement.scrollWidth > innerWidth ? ['the page'] : [])
}"""


# Labels that leave their paper, and labels that hide one another.
LABELS = """() => {
    const problems = []
    for (const { svg } of Object.values(attentionPlayground.instances[0].planes)) {
        const paper = svg.getBoundingClientRect()
        const labels = [...svg.querySelectorAll('text')].filter(text => text.getClientRects().length)
            .map(text => [text.textContent, text.getBoundingClientRect()])
        for (const [words, box] of labels) {
            if (box.left < paper.left || box.right > paper.right || box.top < paper.top
                || box.bottom > paper.bottom) problems.push(`${words} leaves the paper`)
            for (const [others, other] of labels) {
                const across = Math.min(box.right, other.right) - Math.max(box.left, other.left)
                const down = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top)
                if (words < others && across > 0 && down > 0 && across * down > 0.2 * box.width * box.height)
                    problems.push(`${words} is over ${others}`)
            }
        }
    }
    return problems
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_in_light_and_dark(open_playground, scheme):
    page = open_playground(color_scheme=scheme)
    for challenge in CHALLENGES:
        begin(page, challenge)
        if challenge != "free":
            page.click("[data-do=hint]")
        unreadable = [(round(r, 2), words) for r, words in page.evaluate(CONTRASTS) if r < 4.5]
        assert unreadable == [], challenge
    begin(page, "reach")
    page.click("[data-claim=hull]")
    put(page, heads=2, blocked=[True, False, False, False])
    page.click("[data-do=share]")
    found = page.evaluate(CONTRASTS)
    assert len(found) > 60 and min(found)[0] >= 4.5


@pytest.mark.parametrize("width", [296, 400, 700, 1300])
def test_nothing_is_wider_than_the_window_or_cut_off(open_playground, width):
    page = open_playground(width=width)
    for challenge in CHALLENGES:
        begin(page, challenge)
        assert page.evaluate(TOO_WIDE) == [], challenge
    page.select_option("[data-set=preset]", "middle")
    put(page, heads=2, combine="concat", blocked=[True, True, False, False, False])
    assert page.evaluate(TOO_WIDE) == []


@pytest.mark.parametrize("width", [296, 400, 1300])  # 296: JupyterLab's output on a phone
def test_the_numbers_of_the_table_fit_into_their_cells(open_playground, width):
    page = open_playground(width=width)
    assert page.evaluate(OUTSIDE_THEIR_CELL) == []
    put(page, heads=2)
    assert page.evaluate(OUTSIDE_THEIR_CELL) == []


def test_a_link_brings_back_what_was_shared(open_playground):
    page = open_playground()
    begin(page, "reach")
    put(page, queries=[[0.31, -2], [1, 1]], temperature=0.25, blocked=[False, True, False, False])
    page.click("[data-do=share]")
    link = page.input_value("[data-part=link]")
    assert link.startswith(ADDRESS + "#play&") and page.url == link
    other = open_playground(address=link)
    assert state(other) == state(page)
    assert other.locator("[data-challenge=reach]").get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("width", [400, 1300])
def test_labels_stay_on_their_paper_and_clear_of_each_other(open_playground, width):
    page = open_playground(width=width)
    for challenge in CHALLENGES:
        begin(page, challenge)
        assert page.evaluate(LABELS) == [], challenge
    for preset in PRESETS:
        page.select_option("[data-set=preset]", preset)
        assert page.evaluate(LABELS) == [], preset


@pytest.mark.parametrize(
    "end", ["#play&", "#play&k=1,2&v=3", "#play&q=a,b,c,d&k=1,1,2,2&v=1,1,2,2&m=00", "#top"]
)
def test_a_broken_link_starts_afresh(open_playground, end):
    page = open_playground(address=ADDRESS + end)
    assert state(page)["keys"][0] == [1.9, 0.5]


def test_reset_goes_back_to_where_one_began(playground):
    playground.select_option("[data-set=preset]", "twins")
    start = state(playground)
    put(playground, queries=[[3, 3], [0, 0]], temperature=0.2, heads=2)
    playground.click("[data-do=reset]")
    assert state(playground) == start


@pytest.mark.parametrize("preset", PRESETS)
def test_each_preset_has_a_name_and_a_sentence(playground, preset):
    playground.select_option("[data-set=preset]", preset)
    assert len(playground.locator("[data-part=goal]").inner_text()) > 20
    assert state(playground)["preset"] == preset


def test_the_page_fills_the_screen_for_a_lecture(playground):
    playground.click("[data-do=full]")
    playground.wait_for_function("() => document.fullscreenElement !== null")
    assert playground.locator("[data-do=full]").inner_text() == "Leave full screen"
    playground.click("[data-do=full]")
    playground.wait_for_function("() => document.fullscreenElement === null")


def test_the_page_works_in_a_frame_and_the_frame_grows_with_it(browser, tmp_path):
    shown = package.show(height=300)._repr_mimebundle_()
    assert shown["text/plain"].startswith("Attention playground")
    (tmp_path / "outer.html").write_text(f"<!doctype html><body>{shown['text/html']}</body>")
    page = new_page(browser, 1100, 900)
    page.goto((tmp_path / "outer.html").as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("circle.handle").first.wait_for(state="attached")
    frame.locator("[data-challenge=copy]").click()
    frame.locator('[aria-label="Query"]').press("ArrowLeft")
    assert "(1.40, 1.00)" in frame.locator('[data-plane="keys"]').text_content()
    assert page.locator("iframe").bounding_box()["height"] > 600
    frame.locator("[data-do=share]").click()
    assert frame.locator("[data-part=link]").input_value().startswith("#play&c=copy")
    page.context.close()


def test_a_page_may_show_it_twice_and_both_work(browser):
    page = new_page(browser)
    page.set_content(
        package.page().replace("</body>", '<div class="attention-playground"></div></body>')
    )
    page.evaluate("""() => {
        const copy = document.createElement('script')
        copy.textContent = [...document.querySelectorAll('script')].at(-1).textContent
        document.body.append(copy)
    }""")
    assert page.evaluate("attentionPlayground.instances.length") == 2
    put(page, temperature=3)
    assert page.evaluate("attentionPlayground.instances[1].get().temperature") == 1
    page.context.close()


@pytest.mark.thorough
@pytest.mark.slow
def test_jupyterlab_shows_it_in_a_frame_and_as_plain_html(browser, jupyter_lab, screenshots):
    write_notebook(
        jupyter_lab.folder / "playground.ipynb",
        "from course_utils import playground\nplayground.show()",
        "from IPython.display import HTML\nHTML(playground.page())",
    )
    page = open_and_run(browser, jupyter_lab, "playground.ipynb")
    page.wait_for_function("() => window.attentionPlayground?.instances.length === 1")
    assert centre(page, "Query")[0] > 0
    set_lab_theme(page, "JupyterLab Dark")
    inner = page.frame_locator("iframe[data-attention-frame]").locator(".attention-playground")
    outer = page.locator(".attention-playground")
    for host in (inner, outer):
        assert host.get_attribute("data-theme") == "dark"
    page.locator("iframe[data-attention-frame]").screenshot(
        path=screenshots / "playground-lab-dark.png"
    )
    set_lab_theme(page, "JupyterLab Light")
    assert inner.get_attribute("data-theme") == outer.get_attribute("data-theme") == "light"
    save(page)
    cells = read(jupyter_lab.folder / "playground.ipynb", as_version=4).cells
    assert cells[0].outputs[0].data["text/plain"].startswith("Attention playground")
    page.context.close()
