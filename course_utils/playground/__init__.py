"""The attention playground: one page on which a query, keys and values can be dragged.

In a notebook: `from course_utils import playground`, then `playground.show()`.
"""

import html
from dataclasses import dataclass
from importlib.resources import files

WORDS = (
    "Attention playground: an interactive page. Drag a query, keys and values in two planes and "
    "watch scores, weights and output; six challenges. It needs a browser with JavaScript."
)


def page() -> str:
    """The whole page: HTML with its styles and scripts, without anything from a network."""
    return (files(__package__) / "playground.html").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Frame:
    """The page in a frame, for a notebook to display; the words are for those without a browser."""

    height: int

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        frame = (
            f'<iframe data-attention-frame title="Attention playground" srcdoc="{html.escape(page())}" '
            f'style="width:100%;height:{self.height}px;border:0;border-radius:8px" '
            f'allow="fullscreen; clipboard-write" allowfullscreen>{WORDS}</iframe>'
        )
        return {"text/html": frame, "text/plain": WORDS}


def show(height: int = 860) -> Frame:
    """Show the playground below a cell. It grows beyond `height` pixels when it needs to."""
    return Frame(height)
