"""What students write is rendered as text: no tag, no script link, no active formula."""

from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nbconvert.filters.markdown_mistune import markdown2html_mistune

from autograder.intake.harmless import clean_text, harmless_markdown, harmless_outputs

# What nbconvert itself makes of headings, links, lists, code, tables and pictures.
KNOWN = set(
    """p a em strong code pre span div ul ol li h1 h2 h3 h4 h5 h6 blockquote hr br img table thead
    tbody tr th td del""".split()  # noqa: SIM905
)
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
]


class Watcher(HTMLParser):
    """Collects every tag and attribute that a browser would see."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]


def watch(markdown):
    watcher = Watcher()
    watcher.feed(markdown2html_mistune(harmless_markdown(clean_text(markdown))))
    return watcher


def assert_harmless(watcher):
    assert set(watcher.tags) <= KNOWN
    for _, name, value in watcher.attributes:
        assert not name.startswith("on"), (name, value)
        if name in ("href", "src"):
            target = "".join(c for c in value.casefold() if c.isprintable() and c != " ")
            assert not target.startswith(("javascript", "vbscript", "data:text")), value


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_attack_survives(attack):
    watcher = watch(attack)
    assert_harmless(watcher)
    assert "href{" not in harmless_markdown(attack).replace("text{href}{", "")


MIXTURES = st.lists(
    st.sampled_from(
        ["<", ">", "[x]", "(", ")", "javascript:", "script", "\n", "`", "$", "&lt;", "&#60;",
         "\\", '"', "'", "!", " ", "img onerror=1", "</", "<!--", "-->", ":", "#", "1", "|",
         "href", "\\url{", "BEGIN ", "HIDDEN TESTS", "](", "]:", "&#35;"]
    ),
    max_size=14,
).map("".join)  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_cleaning_an_attack_twice_gives_the_same_text(attack):
    once = harmless_markdown(attack)
    assert harmless_markdown(once) == once


@settings(max_examples=500, deadline=None)
@given(MIXTURES | st.text())
@example("](</](javascript:")
def test_cleaning_anything_twice_gives_the_same_text(text):
    once = harmless_markdown(text)
    assert harmless_markdown(once) == once


@settings(max_examples=300, deadline=None)
@given(MIXTURES)
def test_no_mixture_of_marks_makes_a_tag_or_a_script_link(text):
    assert_harmless(watch(text))


@pytest.mark.parametrize(
    "text",
    [
        "Plain words, **bold**, *italic*, `code`.",
        "$a < b$ and $\\frac{1}{\\sqrt{d}}$",
        "[the paper](https://arxiv.org/abs/1706.03762) and [mail](mailto:a@b.example)",
        "![plot](attachment:plot.png)",
        "- one\n- two\n\n1. three",
        "if x < 3: print(x)",
    ],
)
def test_honest_text_stays_as_it_is(text):
    assert harmless_markdown(text) == text


@pytest.mark.parametrize("outputs", [None, 3, "x", [None], [{}], [{"output_type": "stream"}],
                                     [{"output_type": "display_data", "data": {"text/html": "<b>"}}]])  # fmt: skip
def test_odd_outputs_become_text_or_nothing(outputs):
    for output in harmless_outputs(outputs):
        assert set(output.get("data", {})) <= {"text/plain", "image/png"}
