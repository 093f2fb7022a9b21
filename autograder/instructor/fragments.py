"""Turns what a student wrote into HTML that runs nothing.

Markdown is rendered first, with raw HTML as text. Then a sanitiser (nh3) cleans the HTML, and only
then are our own parts put in: drawn formulas, pictures and notes. Each of these has a limit, and the
page mentions what exceeds it, so that there is always a page.
"""

from __future__ import annotations

import html
import re
import secrets
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

from autograder.instructor.mathematics import formula
from autograder.intake.saved import PIXELS, is_picture
from autograder.intake.text import clean_name, clean_text

LONGEST_TEXT = 20_000
LONGEST_CODE = 20_000
# The time for highlighting grows with the square of the blanks in a row.
MANY_BLANKS = re.compile(r"\s{200}")
LONGEST_FORMULA = 400
MOST_FORMULAS = 80
MOST_PICTURES = 30
LARGEST_PICTURES = 8_000_000  # characters of base64 in one text

TAGS = set(
    """p a em strong b i u s del code pre span div ul ol li h1 h2 h3 h4 h5 h6 blockquote hr br sub
    sup kbd mark small table thead tbody tr th td details summary figure figcaption""".split()  # noqa: SIM905
)
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
SCHEMES = {"http", "https", "mailto"}
DATA = re.compile(r"data:(image/\w{3,4});base64,([A-Za-z0-9+/=]+)")


def cleaned(fragment: str) -> str:
    """A piece of HTML without anything that a browser would run or load."""
    return nh3.clean(
        fragment,
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes=SCHEMES,
        url_relative="deny",
        link_rel="noopener noreferrer nofollow",
    )


def written(source: str, attachments: Mapping[str, Any] | None = None) -> str:
    """A student's text as HTML; anything in it that looks like HTML is shown as typed."""
    return _render(source, attachments or {}, raw_html=False)


def given(source: str) -> str:
    """The instructor's text, which may contain tags; it is sanitised all the same."""
    return _render(source, {}, raw_html=True)


def code(source: str) -> str:
    """Highlighted code, or plain text if it is long."""
    from nbconvert.filters.highlight import Highlight2HTML

    if len(source) > LONGEST_CODE or MANY_BLANKS.search(source):
        return f"<pre>{_cut(source, LONGEST_CODE)}</pre>"
    return str(Highlight2HTML(pygments_lexer="python3")(source))


@dataclass
class Parts:
    """Our own pieces of one text, in the order in which they are put in."""

    attachments: Mapping[str, Any]
    mark: str = field(default_factory=lambda: f"part{secrets.token_hex(12)}x")
    pieces: list[str] = field(default_factory=list)
    formulas: int = 0
    pictures: int = 0
    room: int = LARGEST_PICTURES

    def put(self, piece: str) -> str:
        """A placeholder that passes the sanitiser; it is random, so nobody can forge it."""
        self.pieces.append(piece)
        return f"{self.mark}{len(self.pieces) - 1}x"

    def into(self, text: str) -> str:
        marks = re.compile(rf"{self.mark}(\d+)x")
        return marks.sub(lambda found: self.pieces[int(found[1])], text)


def _render(source: str, attachments: Mapping[str, Any], raw_html: bool) -> str:
    source = clean_text(source)
    if len(source) > LONGEST_TEXT:
        return f"<pre>{_cut(source, LONGEST_TEXT)}</pre>"
    parts = Parts(attachments)
    markdown = MarkdownIt("commonmark", {"html": raw_html, "maxNesting": 20})
    markdown.enable(["table", "strikethrough"])
    markdown.use(dollarmath_plugin, allow_labels=False, double_inline=True)
    markdown.use(amsmath_plugin)
    rules = {
        "math_inline": _formula,
        "math_inline_double": _formula_on_its_own,
        "math_block": _formula_on_its_own,
        "amsmath": _formula_on_its_own,
        "image": _picture,
    }
    for name, rule in rules.items():
        markdown.add_render_rule(name, rule)
    return parts.into(cleaned(markdown.render(source, {"parts": parts})))


def _formula(
    _: RendererHTML, tokens: list[Token], place: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    return env["parts"].put(_drawn(tokens[place].content, env["parts"]))


def _formula_on_its_own(
    _: RendererHTML, tokens: list[Token], place: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    drawn = _drawn(tokens[place].content, env["parts"])
    block = f'<span style="display:block;margin:.6em 0">{drawn}</span>'
    return str(env["parts"].put(block))


def _drawn(tex: str, parts: Parts) -> str:
    """A formula as a picture, or as typed if it can't be drawn or there are too many."""
    tex = tex.strip()
    parts.formulas += 1
    drawn = None
    if parts.formulas <= MOST_FORMULAS and len(tex) <= LONGEST_FORMULA:
        drawn = formula(tex)
    return drawn or f"<code>{html.escape(tex)}</code>"


def _picture(
    _: RendererHTML, tokens: list[Token], place: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    """A pasted picture, a note in its place, or a link to a picture elsewhere."""
    token, parts = tokens[place], env["parts"]
    source = str(token.attrs.get("src", ""))
    words = clean_name("".join(child.content for child in token.children or ()))
    if source.lower().startswith(("http:", "https:")):
        address = html.escape(source, quote=True)
        return f'<a href="{address}">[picture: {html.escape(words) or "elsewhere"}]</a>'
    return str(parts.put(_shown(source, words, parts)))


def _shown(source: str, words: str, parts: Parts) -> str:
    name = clean_name(unquote(source.removeprefix("attachment:")))
    if found := DATA.fullmatch(source):
        name, kind, content = "picture", found[1], found[2]
    else:
        bundle = parts.attachments.get(name)
        bundle = bundle if isinstance(bundle, Mapping) else {}
        kind = next((kind for kind in PIXELS if kind in bundle), "")
        content = bundle.get(kind, "")
    parts.pictures += 1
    parts.room -= len(content)
    if parts.pictures > MOST_PICTURES or parts.room < 0:
        return _note(f"The picture {name} isn't shown here: there are too many pictures.")
    if not is_picture(content, kind):
        kinds = "PNG, JPEG, GIF or WebP"
        return _note(f"The picture {name} isn't shown: it is not in the notebook, or not {kinds}.")
    alt = html.escape(words or name, quote=True)
    return f'<img alt="{alt}" style="max-width:100%" src="data:{kind};base64,{content}">'


def _note(sentence: str) -> str:
    return f"<em>[{html.escape(sentence)}]</em>"


def _cut(text: str, most: int) -> str:
    more = f"\n\n[{len(text) - most:,} more characters are not shown.]"
    return html.escape(text[:most] + more if len(text) > most else text)
