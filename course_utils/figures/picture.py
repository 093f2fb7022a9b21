"""A picture together with its description in words: the one type for every figure of the course."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from .theme import STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# On a narrow page a picture shrinks to this share of its width, at which its letters are about 9
# pixels high; on an even narrower page it scrolls.
SMALLEST = 0.75


@dataclass(frozen=True)
class Picture:
    """HTML that contains its own text alternative, and the same text by itself.

    A notebook shows the HTML; where HTML can't be shown, the words appear. `html` is part of a page
    (a drawing, an image, a table), so pictures can be put side by side in a larger one.
    """

    html: str
    words: str

    @property
    def page(self) -> str:
        """The picture with its style sheet: everything that a browser needs."""
        return f'{STYLE}<div class="cw">{self.html}</div>'

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/html": self.page, "text/plain": self.words}


def from_figure(figure: Figure, words: str) -> Picture:
    """A matplotlib figure as a picture; pyplot forgets the figure, so it is shown only once."""
    import matplotlib.pyplot as plt

    file, dpi = io.BytesIO(), 110
    figure.savefig(file, format="png", dpi=dpi, facecolor="white")
    plt.close(figure)
    data = base64.b64encode(file.getvalue()).decode()
    style = f"max-width:100%;min-width:{SMALLEST * dpi * figure.get_figwidth():.0f}px"
    image = f'<img alt="{escape(words)}" src="data:image/png;base64,{data}" style="{style}">'
    return Picture(image, words)


def chip(kind: str, text: str) -> str:
    """A short message on its own background; kind is good, bad or note."""
    return f'<span class="cw-chip cw-{kind}">{escape(text)}</span>'
