"""The site, built and opened from a folder: no network, no dead link, no answer, readable anywhere."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from autograder import build
from course_utils import register
from course_utils.widgets import predict
from tools import make_site, site_outputs

PHONE, DESK = 400, 1300


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    pages, to = tmp_path_factory.mktemp("pages"), tmp_path_factory.mktemp("site")
    make_site.lay_out(pages)
    make_site.build_site(pages, to)
    return to


class Page(HTMLParser):
    """What a page links to, loads and leaves without words."""

    def __init__(self, path: Path):
        super().__init__()
        self.links, self.loads, self.ids, self.headings, self.wordless = [], [], set(), [], []
        self.in_article = False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids.add(found.get("id"))
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in ("img", "script", "iframe") and found.get("src"):
            self.loads.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(found["href"])
        self.in_article |= tag == "article"
        if self.in_article and re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if (tag == "img" and not found.get("alt")) or (tag == "iframe" and not found.get("title")):
            self.wordless.append(self.get_starttag_text()[:200])

    def handle_endtag(self, tag):
        self.in_article &= tag != "article"


def pages(site: Path) -> dict[Path, Page]:
    skipped = ("genindex.html", "search.html", "playground.html")
    found = (p for p in sorted(site.rglob("*.html")) if "_static" not in p.parts)
    return {p: Page(p) for p in found if p.name not in skipped}


def test_every_notebook_and_guide_has_a_page(site):
    for entry in register.notebooks():
        assert (site / "notebooks" / f"{entry.name}.html").exists()
    for name in ("students", "instructors", "routes", "bibliography"):
        assert (site / "guides" / f"{name}.html").exists()
    assert (site / "playground.html").exists()


def test_the_front_page_names_the_licences_of_the_course_and_of_what_the_site_contains(site):
    text = re.sub(r"<[^>]+>", "", (site / "index.html").read_text(encoding="utf-8"))
    for name in ("CC BY 4.0", "BSD-3-Clause", "MathJax (Apache 2.0)", "Bootstrap (MIT)"):
        assert name in text
    shipped = [path.name for path in (site / "_static" / "vendor").iterdir()]
    assert shipped == ["fontawesome"] and "Font Awesome" in text
    assert "Sphinx Book Theme" in text


def test_no_link_on_the_site_is_dead(site):
    known = pages(site)
    for path, page in known.items():
        for link in page.links:
            target, anchor = urldefrag(unquote(link))
            if re.match(r"[a-z]+:", target):
                continue
            there = (path.parent / target).resolve() if target else path
            assert there.exists(), f"{path.name} links to {link}"
            if anchor and there in known:
                assert anchor in known[there].ids, f"{path.name} links to {link}"


def test_everything_that_a_page_loads_is_on_the_site(site):
    for path, page in pages(site).items():
        for address in page.loads:
            if address.startswith("data:"):
                continue
            assert not re.match(r"(https?:)?//", address), f"{path.name} loads {address}"
            assert (path.parent / unquote(address).split("?")[0]).exists(), (path.name, address)


def test_headings_go_down_in_steps_and_pictures_have_words(site):
    for path, page in pages(site).items():
        assert page.headings.count(1) == 1, path.name
        for above, below in zip(page.headings, page.headings[1:]):
            assert below <= above + 1, (path.name, page.headings)
        assert page.wordless == [], path.name


def test_no_page_asks_for_a_cell_that_it_does_not_have(site):
    for name in build.names():
        text = (site / "notebooks" / f"{name}.html").read_text(encoding="utf-8")
        assert "Summary" in text, name
        assert "Ready to submit" not in text and "ready_to_submit" not in text, name


def test_no_page_contains_a_solution_or_a_model_answer(site):
    for name in build.names():
        text = (site / "notebooks" / f"{name}.html").read_text(encoding="utf-8")
        words = re.sub(r"<[^>]+>", "", text)
        source = (build.SOURCES / f"{name}.py").read_text(encoding="utf-8")
        for solution in build.SOLUTION.findall(source):
            for line in solution.splitlines():
                line = line.strip().removeprefix("# ").strip()
                if len(line) > 60 and line not in plain_text_of_release(name):
                    assert line not in words, f"{name} shows {line!r}"


def plain_text_of_release(name: str) -> str:
    notebook = make_site.nbformat.read(make_site.ROOT / f"notebooks/{name}.ipynb", as_version=4)
    return "\n".join(cell.source for cell in notebook.cells)


@pytest.fixture
def visit(browser, site):
    """Opens a page of the site from its folder; afterwards nothing may have gone wrong."""
    contexts, complaints = [], []

    def open_it(name: str, width: int = DESK, scheme: str = "light"):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
        )
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console",
            lambda message: message.type == "error" and complaints.append((name, message.text)),
        )
        page.on("pageerror", lambda error: complaints.append((name, str(error))))
        page.on("requestfailed", lambda request: complaints.append((name, request.url)))
        path, _, query = name.partition("?")
        page.goto((site / path).as_uri() + (f"?{query}" if query else ""))
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.mark.browser
def test_no_page_is_wider_than_a_phone_and_none_complains(visit, site):
    for path in pages(site):
        page = visit(str(path.relative_to(site)), PHONE)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE, path.name
        page.context.close()


@pytest.mark.browser
def test_the_playground_on_the_front_page_answers(visit):
    page = visit("index.html")
    frame = page.frame_locator("iframe.playground")
    assert frame.get_by_role("heading", name="Attention playground").is_visible()
    assert frame.get_by_text("1 Copy").first.is_visible()


@pytest.mark.browser
@pytest.mark.parametrize("name", ["index.html", "notebooks/01_pen_and_paper.html"])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_the_playground_is_shown_whole_and_in_the_colours_of_its_page(visit, name, width):
    page = visit(name, width)
    page.locator("iframe.playground").scroll_into_view_if_needed()
    frame = page.frame_locator("iframe.playground")
    frame.get_by_role("heading", name="Attention playground").wait_for()
    inside = frame.locator(":root")
    page.wait_for_timeout(300)  # the frame grows once it has been measured
    assert inside.evaluate(
        "root => root.scrollHeight <= root.ownerDocument.defaultView.innerHeight"
    )
    for theme in ("dark", "light"):
        page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        inside.locator(f"[data-theme={theme}]").first.wait_for(state="attached")


@pytest.mark.browser
def test_formulas_are_set_without_a_network(visit):
    page = visit("notebooks/05_self_attention.html")
    page.wait_for_selector("mjx-container")
    assert page.locator("mjx-container").count() > 10
    assert page.locator("mjx-merror").count() == 0


@pytest.mark.browser
def test_the_search_finds_a_notebook_from_the_folder(visit):
    page = visit("search.html?q=equivariance")
    page.wait_for_selector("#search-results li a")
    found = page.locator("#search-results li a").all_inner_texts()
    assert any("Self-attention" in title for title in found)


CONTRASTS = """() => {
    const colour = text => (text.match(/[\\d.]+/g) ?? []).map(Number)
    const light = c => c.slice(0, 3).map(v => v / 255)
        .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0)
    const behind = e => {
        for (; e; e = e.parentElement) {
            const c = colour(getComputedStyle(e).backgroundColor)
            if (c.length === 3 || c[3] === 1) return c
        }
        return [255, 255, 255]
    }
    const poor = []
    for (const e of document.querySelectorAll('article p, article li, article a, article td, article th, article code span, article h1, article h2, article h3, nav a')) {
        if (!e.innerText?.trim() || !e.offsetParent) continue
        if (e.closest('.cell_output') && !e.matches('.not-shown')) continue
        const style = getComputedStyle(e), [a, b] = [light(colour(style.color)), light(behind(e))]
        const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05)
        const large = parseFloat(style.fontSize) >= 24
        if (ratio < (large ? 3 : 4.5)) poor.push([e.innerText.slice(0, 30), ratio.toFixed(2)])
    }
    return poor
}"""


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_by_day_and_by_night(visit, scheme, screenshots):
    for name in ("index.html", "notebooks/01_pen_and_paper.html", "guides/instructors.html"):
        page = visit(name, DESK, scheme)
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        assert page.evaluate(CONTRASTS) == [], name
        page.screenshot(path=screenshots / f"site-{Path(name).stem}-{scheme}.png")


# ---- which outputs are stored -----------------------------------------------------------------


def cell(source: str, outputs=(), **metadata):
    made = make_site.nbformat.v4.new_code_cell(source, outputs=list(outputs), metadata=metadata)
    made.metadata.setdefault("id", made.id)
    return made


def printed(text: str):
    return make_site.nbformat.v4.new_output("stream", name="stdout", text=text)


ANSWER = "### BEGIN SOLUTION\nP = [0.237, 0.748, 0.015]\n### END SOLUTION\n"


def stored(*cells):
    notebook = make_site.nbformat.v4.new_notebook(cells=list(cells))
    return site_outputs.outputs_to_show(notebook)


def test_an_output_from_which_an_answer_can_be_read_is_left_out():
    answer = cell(ANSWER, nbgrader={"solution": True, "grade_id": "p"}, id="p")
    tells = cell("print(P)", [printed("[0.237, 0.748, 0.015]")], id="tells")
    other = cell("print(1)", [printed("0.237 and 1.5")], id="other")
    outputs, hidden = stored(answer, tells, other)
    assert hidden == ["tells"] and list(outputs) == ["other"]


def test_answers_and_checks_keep_no_output():
    check = cell("check()", [printed("right")], nbgrader={"grade": True, "grade_id": "p-check"})
    assert stored(check) == ({}, [])


def test_a_widget_is_shown_by_its_picture():
    outputs = [
        make_site.nbformat.v4.new_output(
            "display_data", {site_outputs.WIDGET: {}, "text/plain": "W"}
        ),
        make_site.nbformat.v4.new_output("display_data", {"text/html": "<svg></svg>"}),
    ]
    kept, _ = stored(cell("show()", outputs, id="w"))
    assert [list(o["data"]) for o in kept["w"]] == [["text/html"]]


def test_a_question_to_guess_at_does_not_show_its_result():
    asked = predict("a key of this test", "How many?", unit="%", low=0, high=100)
    revealed = asked.reveal(88)
    question = make_site.without_result(asked._kept_bundle()["text/html"])
    shown = question.replace(asked._key, "")  # random letters and digits, which may have 88
    assert "How many?" in shown and "88" not in shown
    answer = make_site.without_result(revealed.page)
    assert "88%" in answer and "You made no guess" not in answer


def test_an_output_is_never_shown_below_code_that_changed():
    notebook = make_site.nbformat.v4.new_notebook(cells=[cell("print(2)", id="new")])
    notebook.cells[0].id = "new"
    page, missing = make_site.to_read(notebook, {"old": [{"output_type": "stream"}]}, [])
    assert page.cells[0].outputs == [] and missing == 1
