"""Report and feedback in chromium: nothing overflows, nothing runs, nothing is fetched."""

from dataclasses import replace

import pytest

from autograder.grading import archive
from autograder.grading.record import Flag

pytestmark = [pytest.mark.browser, pytest.mark.box]
NAME = "03_attention"
# WCAG's contrast of text and its background, for every element that has text of its own.
CONTRAST = """() => {
  const parse = c => (c.match(/[\\d.]+/g) || []).map(Number)
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0)
  const ground = e => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor)
      if (c.length === 3 || c[3] === 1) return c
    }
    return [255, 255, 255]
  }
  const poor = []
  for (const e of document.querySelectorAll('main *')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())
    if (!own || e.closest('svg') || !e.getClientRects().length) continue
    const a = light(parse(getComputedStyle(e).color)), b = light(ground(e))
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
    if (ratio < 4.5) poor.push([e.tagName, e.className, e.innerText.slice(0, 40), ratio])
  }
  return poor
}"""


# Names that stand on two lines without a blank to break at.
BROKEN = """() => [...document.querySelectorAll('table a')]
  .filter(a => !/\\s/.test(a.textContent.trim()) && a.getClientRects().length > 1)
  .map(a => a.textContent)"""


def feedback_with_a_heat_map(folder):
    for path in sorted((folder / "feedback").glob(f"*/{NAME}/{NAME}.html")):
        if 'class="heat"' in path.read_text(encoding="utf-8"):
            return path
    raise AssertionError("no page of feedback has a heat map")


def feedback_on_nothing(folder):
    (unread,) = [entry.student for entry in archive.records(folder, NAME) if not entry.graded]
    return folder / "feedback" / unread / NAME / f"{NAME}.html"


PAGES = {
    "report": lambda folder: folder / "reports" / f"{NAME}.html",
    "overview": lambda folder: folder / "reports" / "index.html",
    "feedback": feedback_with_a_heat_map,
    "not_graded": feedback_on_nothing,
}


@pytest.fixture(params=list(PAGES))
def page_path(request, demonstration):
    return PAGES[request.param](demonstration[0])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_pages_are_readable_everywhere(browser, screenshots, request, page_path, scheme, width):
    context = browser.new_context(
        color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True
    )
    page = context.new_page()
    fetched = []
    page.on("request", lambda request: fetched.append(request.url))
    page.goto(page_path.as_uri())
    kind = request.node.callspec.params["page_path"]
    page.screenshot(path=screenshots / f"{kind}_{scheme}_{width}.png", full_page=True)
    wider = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert wider == 0
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate(BROKEN) == []
    assert fetched == [page_path.as_uri()]
    assert page.locator("script").count() == 0
    for picture in page.locator("[role=img]").all():
        assert picture.get_attribute("aria-label")
    context.close()


@pytest.mark.parametrize("kind", ["report", "overview"])
def test_no_table_is_cut_on_a_phone(browser, screenshots, demonstration, kind):
    page = browser.new_page(viewport={"width": 400, "height": 900})
    page.goto(PAGES[kind](demonstration[0]).as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    page.screenshot(path=screenshots / f"{kind}_open_400.png", full_page=True)
    cut = """[...document.querySelectorAll('.scroll')]
      .filter(box => box.scrollWidth > box.clientWidth).map(box => box.innerText.slice(0, 80))"""
    assert page.locator(".scroll").count() >= {"report": 5, "overview": 3}[kind]
    assert page.evaluate(cut) == []
    page.close()


def test_feedback_fits_on_paper(browser, screenshots, demonstration):
    folder, _ = demonstration
    page = browser.new_page()
    page.emulate_media(media="print")
    page.goto(feedback_with_a_heat_map(folder).as_uri())
    paper = page.pdf(path=screenshots / "feedback.pdf", format="A4")
    assert paper.startswith(b"%PDF")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.close()


def test_no_script_of_a_student_runs_in_the_report(browser, course, autograder):
    first = archive.records(course, NAME)[0]
    attack = "<img src=x onerror='document.title=1'><script>document.title=1</script>"
    exercises = [
        replace(e, misconception=attack, sentence=attack, hint=attack) for e in first.exercises
    ]
    flags, repairs = (Flag("intake", attack),), (attack,)
    archive.write_record(
        course, replace(first, flags=flags, repairs=repairs, exercises=tuple(exercises))
    )
    assert autograder("report", NAME, "--course", course).exit_code == 0
    page = browser.new_page()
    page.goto((course / "reports" / f"{NAME}.html").as_uri())
    assert page.title().endswith("class report")
    assert page.locator("main img, script").count() == 0
    page.close()
