"""The attention editor: change a number, a mask or a choice, and see every step of the chain."""

from contextlib import contextmanager
from dataclasses import replace

import ipywidgets as widgets

from course_utils.editor.attention_state import (
    LARGEST_SIZE,
    MASKS,
    RULES,
    SMALLEST_SIZE,
    AttentionState,
    make_setup,
    new_state,
)
from course_utils.editor.challenges import CHALLENGES, ChallengeResult, challenge_setup
from course_utils.editor.numbers import BadNumber, exact
from course_utils.editor.presets import PRESETS, preset
from course_utils.figures.picture import chip
from course_utils.figures.theme import STYLE

from .attention_picture import editor_fields, editor_picture, matrix_title
from .view import FULL_LABEL, View, button, menu, tick, wrapped

_NARROWEST_CELL = 58
_CHOICES = ("scale", "rule", "temperature", "mask", "seen")
_SIZE_WORDS = {
    "tokens": "tokens",
    "queries": "queries",
    "keys": "keys",
    "input": "width of X",
    "key": "width of Q, K",
    "value": "width of V",
    "output": "width of output",
}


class AttentionEditor(View):
    """The view over an AttentionState; every control can be reached and used with the keyboard."""

    title = "Attention editor"

    def __init__(self, state: AttentionState):
        super().__init__()
        self.state = state
        self._quiet = False
        self._wrong: dict[str, str] = {}
        self._fields: dict[tuple[str, int, int], widgets.Text] = {}
        self._switches: dict[tuple[int, int], widgets.ToggleButton] = {}
        self._shapes: object = None
        self._switch_shape: object = None
        # The fields of a matrix share one layout and one style: an 8 by 8 grid is then 64 models,
        # not 192.
        self._cell_layouts: dict[str, widgets.Layout] = {}
        self._grid_layouts: dict[str, widgets.Layout] = {}
        self._cell_style = widgets.Text().style
        self._make_controls()
        self._refresh()

    # What a notebook asks for ---------------------------------------------------------------

    def result(self) -> dict:
        """Matrices, choices and the chain's numbers as arrays."""
        return self.state.result()

    def challenge_result(self) -> ChallengeResult | None:
        """Distance, tolerance and answer of the current challenge; None without one."""
        challenge = self.state.challenge
        return challenge.judge(self.state.setup) if challenge else None

    @property
    def solved(self) -> dict[str, ChallengeResult]:
        """The challenges solved so far, by name; each holds its answer."""
        return dict(self.state.solved)

    def code(self) -> str:
        """A cell that rebuilds what is shown."""
        return self.state.code()

    def answers_as_code(self) -> str:
        """A line for each challenge solved so far, to paste into the notebook's answer cell."""
        return self.state.answers_as_code()

    # Controls --------------------------------------------------------------------------------

    def _make_controls(self) -> None:
        self._make_starts()
        self._make_choices()
        self._make_texts()
        self._size_row = wrapped([])
        self._grids = widgets.Box(
            layout=widgets.Layout(flex_flow="row wrap", align_items="flex-start", width="100%")
        )
        self._mask_grid = widgets.VBox(layout=widgets.Layout(display="none"))
        starts = [self._preset, self._challenge, self._undo, self._redo, self._reset, self._copy]
        choices = [
            self._source, self._scale, self._rule, self._temperature, self._mask, self._heads
        ]  # fmt: skip
        self.widget = widgets.VBox(
            [
                wrapped(starts),
                wrapped(choices),
                self._size_row,
                self._code,
                self._message,
                self._grids,
                self._mask_grid,
                self._answers,
                self.picture,
            ],
            layout=widgets.Layout(width="100%"),
        )

    def _make_starts(self) -> None:
        """Where to start, and the steps back and forward through the edits."""
        presets = [("your own", ""), *((p.label, name) for name, p in PRESETS.items())]
        challenges = [("none", ""), *((c.title, name) for name, c in CHALLENGES.items())]
        self._preset = menu("Start from", presets, "300px")
        self._challenge = menu("Challenge", challenges, "290px")
        self._undo = button("Undo", "70px")
        self._redo = button("Redo", "70px")
        self._reset = button("Reset", "70px")
        self._copy = widgets.ToggleButton(
            description="Copy as code", layout=widgets.Layout(width="120px")
        )
        self._on_value(self._preset, self._load_preset)
        self._on_value(self._challenge, self._load_challenge)
        self._undo.on_click(lambda _: self._change(self.state.undo))
        self._redo.on_click(lambda _: self._change(self.state.redo))
        self._reset.on_click(lambda _: self._change(self.state.reset))
        self._copy.observe(lambda _: self._refresh(), "value")

    def _make_choices(self) -> None:
        """The choices that decide the numbers, apart from the matrices."""
        sources = [("X, W_Q, W_K, W_V", False), ("Q, K, V directly", True)]
        self._source = menu("Edit", sources, "220px")
        self._scale = tick("divide by √d", "120px")
        self._rule = menu("Weights by", RULES, "170px")
        self._temperature = widgets.Text(
            description="Temperature",
            continuous_update=False,
            style=FULL_LABEL,
            layout=widgets.Layout(width="150px"),
        )
        self._mask = menu("Mask", MASKS, "150px")
        self._heads = menu("Heads", [1, 2], "110px")
        for control, act in (
            (self._source, self.state.set_direct),
            (self._scale, self.state.set_scale),
            (self._rule, self.state.set_rule),
            (self._mask, self.state.set_mask),
            (self._heads, self.state.set_heads),
        ):
            self._on_value(control, act)
        self._temperature.observe(
            lambda change: self._typed(
                "Temperature", self._temperature, self.state.set_temperature, change["new"]
            ),
            "value",
        )
        self._sizes = {}
        for size, words in _SIZE_WORDS.items():
            smallest = 1 if size == "queries" else SMALLEST_SIZE
            choice = menu(words, list(range(smallest, LARGEST_SIZE + 1)), "150px")
            self._on_value(choice, lambda length, size=size: self.state.resize(size, length))
            self._sizes[size] = choice

    def _make_texts(self) -> None:
        """What the editor prints: a message, its code, the lines for the answer."""
        self._message = widgets.HTML()
        self._code = widgets.Textarea(
            description="Code",
            rows=8,
            style=FULL_LABEL,
            layout=widgets.Layout(width="95%", display="none"),
        )
        self._answers = widgets.Textarea(
            description="Copy to your answer",
            style=FULL_LABEL,
            layout=widgets.Layout(width="95%", display="none"),
        )
        for box in (self._code, self._answers):
            box.add_class("cw-code")

    def _on_value(self, control: widgets.Widget, act) -> None:
        control.observe(lambda change: self._change(lambda: act(change["new"])), "value")

    def _load_preset(self, name: str) -> None:
        if name:
            self.state.load(preset(name))

    def _load_challenge(self, name: str) -> None:
        if name:
            self.state.load(CHALLENGES[name].begin())
        else:
            self.state.load(replace(self.state.setup, challenge=None))

    # From a change to the picture -------------------------------------------------------------

    @contextmanager
    def _without_echo(self):
        """What the program writes into a control is not an edit by the student."""
        self._quiet = True
        try:
            yield
        finally:
            self._quiet = False

    def _change(self, act) -> None:
        if self._quiet:
            return
        message = ""
        try:
            act()
        except (BadNumber, ValueError) as problem:
            message = str(problem)
        self._clear_wrong()
        self._refresh(message)

    def _typed(self, label: str, box: widgets.Text, act, typed: str) -> None:
        if self._quiet:
            return
        try:
            act(typed)
        except BadNumber as problem:
            # The picture and every other number stay; only the field shows what is wrong.
            self._wrong[label] = f"{label} {problem}"
            box.add_class("cw-wrong")
            self._say()
            return
        self._wrong.pop(label, None)
        box.remove_class("cw-wrong")
        self._refresh()

    def _clear_wrong(self) -> None:
        for box in (*self._fields.values(), self._temperature):
            if "cw-wrong" in box._dom_classes:
                box.remove_class("cw-wrong")
        self._wrong.clear()

    def _say(self, message: str = "") -> None:
        lines = [message] if message else []
        lines += self._wrong.values()
        body = "<br>".join(chip("bad", line) for line in lines)
        value = f'{STYLE}<div class="cw" role="alert">{body}</div>' if lines else ""
        if self._message.value != value:
            self._message.value = value

    def _refresh(self, message: str = "") -> None:
        """Update every control and the picture to the state."""
        state, setup = self.state, self.state.setup
        with self._without_echo():
            # Colab's ipywidgets shows None as an empty menu, so "" means no challenge.
            self._challenge.value = setup.challenge or ""
            self._preset.value = setup.origin
            self._undo.disabled = not state.history.can_undo
            self._redo.disabled = not state.history.can_redo
            free = state.challenge is None
            for control, value, name in (
                (self._source, setup.direct, "source"),
                (self._scale, setup.scale, "scale"),
                (self._rule, setup.rule, "rule"),
                (self._mask, setup.mask, "mask"),
                (self._heads, setup.heads, "heads"),
            ):
                control.value = value
                control.disabled = not state.may_edit(name)
            if "Temperature" not in self._wrong:
                self._temperature.value = exact(setup.temperature)
            self._temperature.disabled = not state.may_edit("temperature") or setup.rule == "argmax"
            sizes = setup.sizes
            for size, length in sizes.items():
                self._sizes[size].value = length
                self._sizes[size].disabled = not free
            shown = tuple(self._sizes[size] for size in _SIZE_WORDS if size in sizes)
            if self._size_row.children != shown:
                self._size_row.children = shown
            self._refresh_fields()
            self._refresh_switches()
            self._code.layout.display = "" if self._copy.value else "none"
            if self._copy.value:
                self._code.value = state.code()
            self._answers.layout.display = "" if state.solved else "none"
            if state.solved:
                self._answers.rows = 1 + len(state.solved)
                self._answers.value = state.answers_as_code()
        self._say(message)
        self._draw(editor_picture(state), editor_fields(state))

    def _field(self, name: str, row: int, column: int) -> widgets.Text:
        key = (name, row, column)
        if key not in self._fields:
            label = f"{name} row {row + 1} column {column + 1}"
            box = widgets.Text(
                description=label,
                continuous_update=False,
                layout=self._cell_layouts.setdefault(name, widgets.Layout(margin="1px")),
                style=self._cell_style,
            )
            box.add_class("cw-cell")
            box.observe(
                lambda change: self._typed(
                    label,
                    box,
                    lambda typed: self.state.set_cell(name, row, column, typed),
                    change["new"],
                ),
                "value",
            )
            self._fields[key] = box
        return self._fields[key]

    def _refresh_fields(self) -> None:
        setup = self.state.setup
        for name, matrix in setup.matrices.items():
            locked = not self.state.may_edit(name)
            longest = 0
            for i, row in enumerate(matrix.tolist()):
                for j, value in enumerate(row):
                    box = self._field(name, i, j)
                    text = exact(value)
                    longest = max(longest, len(text))
                    if box.description in self._wrong:
                        continue
                    if box.value != text:
                        box.value = text
                    if box.disabled != locked:
                        box.disabled = locked
            self._fit_fields(name, longest, matrix.shape[1])
        shapes = [(name, matrix.shape) for name, matrix in setup.matrices.items()]
        if shapes != self._shapes:
            self._shapes = shapes
            self._grids.children = [self._grid(name, *shape) for name, shape in shapes]

    def _fit_fields(self, name: str, longest: int, columns: int) -> None:
        """Make the fields of a matrix wide enough for its longest number.

        Only layouts change: new fields would lose the keyboard's focus.
        """
        width = max(_NARROWEST_CELL, 14 + 8 * longest)
        self._cell_layouts[name].width = f"{width}px"
        grid = self._grid_layouts.setdefault(name, widgets.Layout())
        grid.grid_template_columns = f"repeat({columns}, {width + 2}px)"

    def _grid(self, name: str, rows: int, columns: int) -> widgets.VBox:
        words = matrix_title(name, self.state.setup.heads)
        cells = [self._field(name, i, j) for i in range(rows) for j in range(columns)]
        title = widgets.HTML(f"<b>{words}</b>")
        title.add_class("cw-title")
        return widgets.VBox(
            [title, widgets.GridBox(cells, layout=self._grid_layouts[name])],
            layout=widgets.Layout(margin="0 16px 6px 0", flex="0 0 auto"),
        )

    def _switch(self, query: int, key: int) -> widgets.ToggleButton:
        if (query, key) not in self._switches:
            switch = widgets.ToggleButton(layout=widgets.Layout(width="42px", margin="1px"))
            switch.add_class("cw-switch")
            self._on_value(switch, lambda _: self.state.toggle(query, key))
            self._switches[query, key] = switch
        return self._switches[query, key]

    def _refresh_switches(self) -> None:
        setup = self.state.setup
        custom = setup.mask == "custom"
        self._mask_grid.layout.display = "" if custom else "none"
        if not custom:
            return
        allowed = setup.allowed
        for (i, j), on in ((at, bool(allowed[at])) for at in _places(allowed.shape)):
            switch = self._switch(i, j)
            switch.value = on
            # Wide spaces push the words for a screen reader out of the small button's sight.
            gap = "\u2003" * 4
            switch.description = f"{'on' if on else 'off'}{gap}query {i + 1}, key {j + 1}"
            switch.tooltip = f"query {i + 1} {'sees' if on else 'does not see'} key {j + 1}"
        if allowed.shape != self._switch_shape:
            self._switch_shape = allowed.shape
            columns = allowed.shape[1]
            grid = widgets.GridBox(
                [self._switch(i, j) for i, j in _places(allowed.shape)],
                layout=widgets.Layout(grid_template_columns=f"repeat({columns}, 46px)"),
            )
            title = widgets.HTML("<b>Mask</b>: a row is a query, a column a key; on is seen")
            self._mask_grid.children = [title, grid]


def _places(shape: tuple[int, int]):
    return ((i, j) for i in range(shape[0]) for j in range(shape[1]))


def attention_editor(
    start: str | None = None, *, challenge: str | None = None, **matrices_and_choices
) -> AttentionEditor:
    """Show the editor with a preset, a challenge, or your own matrices.

    `attention_editor("self-attention")`, `attention_editor(challenge="copy-one")` (with what the
    challenge lets you change, to go on from there: `challenge="copy-one", Q=[[...], [...]]`), or
    `attention_editor(Q=[[1, 0]], K=[[1, 0], [0, 1]], V=[[1, 2], [3, 4]], scale=False)`.
    Choices: scale, rule ("softmax", "argmax"), temperature, mask ("none", "causal", "custom"),
    seen (where a custom mask lets a query see a key).
    """
    if challenge is not None:
        return AttentionEditor(new_state(challenge_setup(challenge, **matrices_and_choices)))
    own_matrices = set(matrices_and_choices) - set(_CHOICES)
    if start is None and own_matrices:
        return AttentionEditor(new_state(make_setup(**matrices_and_choices)))
    setup = preset(start or "self-attention")
    if matrices_and_choices:
        choices = {choice: getattr(setup, choice) for choice in _CHOICES}
        setup = make_setup(**{**setup.matrices, **choices, **matrices_and_choices})
    return AttentionEditor(new_state(setup))
