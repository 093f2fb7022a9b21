"""Draws formulas as small pictures, so that a page needs no script and no network."""

from __future__ import annotations

import hashlib
import html
import io
import re
from functools import lru_cache

POINTS = 12
WIDEST, HIGHEST = 2000, 1000  # of a formula, in points


def _spelled_out(tex: str) -> str:
    """TeX's short forms as mathtext reads them: `\\sqrt d`, `\\frac12`, `\\le`, sized brackets."""
    tex = " ".join(tex.split())
    tex = re.sub(r"\\sqrt\s+(\w)", r"\\sqrt{\1}", tex)
    tex = re.sub(r"\\frac\s*(\d)\s*(\d)", r"\\frac{\1}{\2}", tex)
    tex = re.sub(r"\\(?:!|[bB]igg?[lr]?(?![a-zA-Z]))", "", tex)
    tex = tex.replace(r"\texttt{", r"\mathtt{")
    return re.sub(r"\\le(?![a-zA-Z])", r"\\leq", tex)


@lru_cache(maxsize=512)
def formula(tex: str) -> str | None:
    """A formula as inline SVG in the colour of the text; None for TeX that can't be drawn."""
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.mathtext import MathTextParser

    try:
        plain = _spelled_out(tex)
        size = FontProperties(size=POINTS)
        width, height, depth, *_ = MathTextParser("path").parse(f"${plain}$", dpi=72, prop=size)
        if not (0 < width <= WIDEST and 0 < height <= HIGHEST):
            return None
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
    # Each picture's glyphs get other ids: there are many pictures on one page.
    mark = "m" + hashlib.sha256(tex.encode()).hexdigest()[:8]
    svg = re.sub(r'id="([^"]+)"', rf'id="{mark}-\1"', svg)
    svg = re.sub(r'(xlink:href=")#([^"]+)"', rf'\1#{mark}-\2"', svg)
    label = html.escape(tex, quote=True)
    opening = (
        f'<svg role="img" aria-label="{label}" fill="currentColor" '
        f'style="vertical-align:-{depth + 1:.1f}pt;max-width:100%"'
    )
    return svg.replace("<svg", opening, 1)
