"""What all widgets share: a live picture, and the same picture kept in the saved notebook.

A live view needs a kernel. So beside it stands a second output, plain HTML, that is hidden as long
as the live picture is on the page. A notebook opened without a kernel, or exported, shows that one.
"""

from uuid import uuid4

import ipywidgets as widgets
from IPython.display import display

from .theme import CONTROL_STYLE, STYLE


def static_html(body: str) -> str:
    """A picture that needs nothing but a browser."""
    return f'{STYLE}<div class="cw">{body}</div>'


class View:
    """A widget that a notebook shows; `widget` is its ipywidgets tree."""

    title = "Widget"

    def __init__(self) -> None:
        self._key = uuid4().hex[:10]
        self._displayed = False
        self._body = ""
        self._words = self.title
        self.picture = widgets.HTML(layout=widgets.Layout(width="100%", margin="0"))
        self.widget: widgets.Widget = self.picture

    def _draw(self, body: str, words: str, controls: str = "") -> None:
        """Show a new picture, live and in the notebook.

        words is its text alternative; controls is what the live controls show anyway, so that
        only the kept picture needs it.
        """
        self._body, self._words = controls + body, words
        self.picture.value = (
            f"{STYLE}{CONTROL_STYLE}"
            f'<div class="cw cw-live-{self._key}" role="group" '
            f'aria-label="{self.title}">{body}</div>'
        )
        if self._displayed:
            display(self._kept(), raw=True, display_id=self._key, update=True)

    def _kept(self) -> dict[str, str]:
        live, kept = f".cw-live-{self._key}", f".cw-kept-{self._key}"
        areas = [".jp-OutputArea-child", ".output_area"]
        # With a live picture the kept one goes; without, the dead widget before it goes.
        hide = [f"body:has({live}) {kept}"]
        hide += [f"body:has({live}) {area}:has({kept})" for area in areas]
        hide += [f"body:not(:has({live})) {area}:has(+ {area} {kept})" for area in areas]
        rules = "".join(f"{selector}{{display:none!important}}" for selector in hide)
        html = (
            f'{STYLE}<style>{rules}</style><div class="cw {kept[1:]}" role="group" '
            f'aria-label="{self.title}, as it was last seen">{self._body}</div>'
        )
        return {"text/html": html, "text/plain": self._words}

    @property
    def html(self) -> str:
        """The picture as it is now, as static HTML."""
        return static_html(self._body)

    def _ipython_display_(self) -> None:
        view = {
            "text/plain": f"{self.title} (alive while a kernel runs; its last picture follows)",
            "application/vnd.jupyter.widget-view+json": {
                "version_major": 2,
                "version_minor": 0,
                "model_id": self.widget.model_id,
            },
        }
        display(view, raw=True)
        display(self._kept(), raw=True, display_id=self._key)
        self._displayed = True
