"""Draws the formulas of a text as small pictures, so that a page needs no script and no network."""

from __future__ import annotations

import hashlib
import html
import io
import re
from functools import lru_cache

from nbconvert.filters.markdown_mistune import markdown2html_mistune

FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+?)\$", re.S)
KEPT = re.compile(r"(<pre.*?</pre>|<code.*?</code>|<[^>]+>)", re.S)
POINTS = 12


def markdown(text: str) -> str:
    """Markdown as HTML, with its formulas drawn."""
    parts = KEPT.split(markdown2html_mistune(text))
    return "".join(part if KEPT.fullmatch(part) else _with_formulas(part) for part in parts)


def _with_formulas(text: str) -> str:
    def draw(found: re.Match) -> str:
        tex = html.unescape(found[1] or found[2]).strip()
        picture = formula(tex)
        if picture is None:
            return f"<code>{html.escape(tex)}</code>"
        return (
            f'<span style="display:block;margin:.6em 0">{picture}</span>' if found[1] else picture
        )

    return FORMULA.sub(draw, text)


@lru_cache(maxsize=512)
def formula(tex: str) -> str | None:
    """A formula as inline SVG in the colour of the text; None for TeX that can't be drawn."""
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.mathtext import MathTextParser

    try:
        plain = " ".join(tex.split())
        size = FontProperties(size=POINTS)
        width, height, depth, *_ = MathTextParser("path").parse(f"${plain}$", dpi=72, prop=size)
        figure = Figure(figsize=((width + 2) / 72, (height + 2) / 72))
        figure.text(0, (depth + 1) / (height + 2), f"${plain}$", fontproperties=size)
        stream = io.StringIO()
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    except Exception:  # mathtext knows a part of TeX; what it doesn't know is shown as it is
        return None
    svg = stream.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.S)
    svg = re.sub(r'\s+xmlns:(?!xlink)\w+="[^"]*"', "", svg)
    # Each picture's glyphs get ids of their own: many pictures stand on one page.
    mark = "m" + hashlib.sha256(tex.encode()).hexdigest()[:8]
    svg = re.sub(r'id="([^"]+)"', rf'id="{mark}-\1"', svg)
    svg = re.sub(r'(xlink:href=")#([^"]+)"', rf'\1#{mark}-\2"', svg)
    label = html.escape(tex, quote=True)
    opening = (
        f'<svg role="img" aria-label="{label}" fill="currentColor" '
        f'style="vertical-align:-{depth + 1:.1f}pt;max-width:100%"'
    )
    return svg.replace("<svg", opening, 1)
