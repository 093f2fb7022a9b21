"""What all widgets share: a live picture, and the same picture kept in the saved notebook.

A live view needs a kernel. So a second output follows it, plain HTML, which is hidden as long as the
live picture is on the page. A notebook opened without a kernel, or exported, shows that one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

import ipywidgets as widgets
from IPython.display import display

from course_utils.figures.picture import Picture, chip
from course_utils.figures.theme import STYLE

from .control_style import CONTROL_STYLE

# The whole label is shown, however long it is.
FULL_LABEL = {"description_width": "initial"}


def menu(label: str, options, width: str, value=None) -> widgets.Dropdown:
    """A labelled choice; a native menu, which keyboards and screen readers know."""
    chosen = {} if value is None else {"value": value}
    choice = widgets.Dropdown(
        description=label,
        options=options,
        style=FULL_LABEL,
        layout=widgets.Layout(width=width),
        **chosen,
    )
    choice.add_class("cw-menu")
    return choice


def tick(label: str, width: str, value: bool = False) -> widgets.Checkbox:
    """A labelled box to tick."""
    return widgets.Checkbox(
        description=label, value=value, indent=False, layout=widgets.Layout(width=width)
    )


def button(label: str, width: str) -> widgets.Button:
    """A button that is wider than `width` where the page's font needs more for its label."""
    return widgets.Button(description=label, layout=widgets.Layout(width="auto", min_width=width))


def wrapped(children) -> widgets.Box:
    """Controls in a row that wraps on a narrow page."""
    return widgets.Box(
        children,
        layout=widgets.Layout(
            flex_flow="row wrap", align_items="center", width="100%", grid_gap="0 12px"
        ),
    )


class View:
    """A widget that a notebook shows; `widget` is its ipywidgets tree."""

    title = "Widget"

    def __init__(self) -> None:
        self._key = uuid4().hex[:10]
        self._displayed = False
        self.kept = Picture("", self.title)
        self.picture = widgets.HTML(layout=widgets.Layout(width="100%", margin="0"))
        self.widget: widgets.Widget = self.picture

    def _draw(self, picture: Picture, controls: str = "") -> None:
        """Show a new picture, live and in the notebook.

        controls is what the live controls show anyway, so only the kept picture needs it.
        """
        self.kept = Picture(controls + picture.html, picture.words)
        self.picture.value = (
            f"{STYLE}{CONTROL_STYLE}"
            f'<div class="cw cw-live-{self._key}" role="group" '
            f'aria-label="{self.title}">{picture.html}</div>'
        )
        if self._displayed:
            display(self._kept_bundle(), raw=True, display_id=self._key, update=True)

    def _kept_bundle(self) -> dict[str, str]:
        live, kept = f".cw-live-{self._key}", f".cw-kept-{self._key}"
        areas = [".jp-OutputArea-child", ".output_area"]
        # With a live picture the kept one goes; without, the dead widget before it goes.
        hide = [f"body:has({live}) {kept}"]
        hide += [f"body:has({live}) {area}:has({kept})" for area in areas]
        hide += [f"body:not(:has({live})) {area}:has(+ {area} {kept})" for area in areas]
        rules = "".join(f"{selector}{{display:none!important}}" for selector in hide)
        html = (
            f'{STYLE}<style>{rules}</style><div class="cw {kept[1:]}" role="group" '
            f'aria-label="{self.title}, as it was last seen">{self.kept.html}</div>'
        )
        return {"text/html": html, "text/plain": self.kept.words}

    @property
    def html(self) -> str:
        """The picture as it is now, as a page that needs no kernel."""
        return self.kept.page

    def _ipython_display_(self) -> None:
        view = {
            "text/plain": f"{self.title} (interactive while a kernel runs; its last picture follows)",
            "application/vnd.jupyter.widget-view+json": {
                "version_major": 2,
                "version_minor": 0,
                "model_id": self.widget.model_id,
            },
        }
        display(view, raw=True)
        display(self._kept_bundle(), raw=True, display_id=self._key)
        self._displayed = True


class Explorer(View):
    """A view in which each control sets one field of a frozen dataclass, and the picture follows.

    A value that the dataclass refuses (ValueError) is explained; the last good picture stays.
    """

    def __init__(
        self,
        state,
        controls: Mapping[str, widgets.Widget],
        draw: Callable[[Any], Picture],
        extra: Sequence[widgets.Widget] = (),
    ):
        super().__init__()
        self.state = state
        self._paint = draw
        self._controls = dict(controls)
        self._quiet = False
        self._message = widgets.HTML()
        for name, control in self._controls.items():
            control.observe(
                lambda change, name=name: self._chosen(name, change["new"]), names="value"
            )
        rows = [wrapped([*self._controls.values(), *extra])] if controls or extra else []
        self.widget = widgets.VBox(
            [*rows, self._message, self.picture], layout=widgets.Layout(width="100%")
        )
        self.show(state)

    def show(self, state) -> None:
        """Make this the state: controls and picture follow."""
        self.state = state
        self._quiet = True
        try:
            for name, control in self._controls.items():
                value = getattr(state, name)
                if control.value != value:
                    control.value = value
        finally:
            self._quiet = False
        self._say("")
        self._draw(self._paint(state))

    def _chosen(self, name: str, value) -> None:
        if self._quiet:
            return
        try:
            state = replace(self.state, **{name: value})
        except ValueError as problem:
            self._say(str(problem))
            return
        self.show(state)

    def _say(self, message: str) -> None:
        value = f'{STYLE}<div class="cw" role="alert">{chip("bad", message)}</div>'
        self._message.value = value if message else ""
