"""Move tokens around and see whether the outputs of self-attention move with them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from course_utils.editor.attention_state import compute, make_setup
from course_utils.editor.history import History
from course_utils.figures.chart import heat_table
from course_utils.figures.drawing import drawing, text
from course_utils.figures.numbers import shown
from course_utils.figures.picture import Picture, chip

from .position_explorer import PositionState
from .view import Explorer, button, menu, tick

_SIZE = 4


@dataclass(frozen=True)
class PermutationState:
    """Tokens, their current order, and what depends on it."""

    tokens: tuple[str, ...] = ("the", "cat", "saw", "me")
    order: tuple[int, ...] = ()
    positions: bool = False
    mask: bool = False
    seed: int = 0
    chosen: int = 0

    def __post_init__(self) -> None:
        if not 2 <= len(self.tokens) <= 8:
            raise ValueError("Give 2 to 8 tokens.")
        if not self.order:
            object.__setattr__(self, "order", tuple(range(len(self.tokens))))
        if sorted(self.order) != list(range(len(self.tokens))):
            raise ValueError("The order must name each token once.")

    def output(self, order: Sequence[int]) -> np.ndarray:
        """The outputs of self-attention for the tokens in an order, a row for each place."""
        rng = np.random.default_rng(self.seed)
        words = {word: rng.normal(size=_SIZE).round(1) for word in dict.fromkeys(self.tokens)}
        W_Q, W_K, W_V = (rng.normal(size=(_SIZE, _SIZE)).round(1) for _ in range(3))
        X = np.stack([words[self.tokens[i]] for i in order])
        if self.positions:
            X = X + PositionState(_SIZE, len(order), 100).values
        mask = "causal" if self.mask else "none"
        return compute(make_setup(X=X, W_Q=W_Q, W_K=W_K, W_V=W_V, mask=mask)).output

    @property
    def before(self) -> np.ndarray:
        """Outputs in the original order of the tokens."""
        return self.output(range(len(self.tokens)))

    @property
    def now(self) -> np.ndarray:
        return self.output(self.order)

    @property
    def change(self) -> np.ndarray:
        """For each place, the largest change in its token's output."""
        # Rounded, because moving rows also moves the last digits of their sums.
        return np.abs(self.now - self.before[list(self.order)]).max(axis=1).round(9)

    @property
    def moves_along(self) -> bool:
        """True when each token has kept its output, wherever it is."""
        return bool(self.change.max() == 0)

    def moved(self, step: int) -> "PermutationState":
        """The chosen token one place to the left (-1) or right (+1)."""
        order = list(self.order)
        place = order.index(self.chosen)
        other = place + step
        if not 0 <= other < len(order):
            return self
        order[place], order[other] = order[other], order[place]
        return replace(self, order=tuple(order))

    def reversed(self) -> "PermutationState":
        return replace(self, order=self.order[::-1])


def _crossing(state: PermutationState) -> str:
    """Where each token went, as lines from the original order to the current one."""
    count, step = len(state.tokens), 96
    width = 20 + count * step
    parts = [text(10, 16, "at first", kind="q"), text(10, 118, "now", kind="q")]
    for place, token in enumerate(state.order):
        x0, x1 = 60 + token * step, 60 + place * step
        series = token % 6 + 1
        parts.append(f'<path class="s{series}" stroke-width="2" d="M{x0} 42L{x1} 82"/>')
        word = state.tokens[token][:10]
        for x, y in ((x0, 36), (x1, 98)):
            chosen = token == state.chosen
            parts.append(text(x, y, word, anchor="middle", size=13, kind=f"t{series}", bold=chosen))
    words = " ".join(state.tokens[i] for i in state.order)
    return drawing(width, 126, f"The order now: {words}.", parts).html


def permutation_picture(state: PermutationState) -> Picture:
    """Where each token went, and the outputs before and after."""
    order = list(state.order)
    names = [f"{place + 1} {state.tokens[token]}" for place, token in enumerate(order)]
    first = [f"{place + 1} {token}" for place, token in enumerate(state.tokens)]
    largest = float(state.change.max())
    if order == sorted(order):
        verdict, kind = "Nothing has moved yet: move a token.", "note"
    elif state.moves_along:
        verdict, kind = "The outputs moved with their tokens, unchanged.", "good"
    else:
        causes = [
            cause
            for cause, on in (("positions", state.positions), ("the causal mask", state.mask))
            if on
        ]
        verdict = (
            f"The outputs changed, by up to {shown(largest)}: "
            f"{' and '.join(causes)} make the order matter."
        )
        kind = "bad"
    tables = heat_table("original outputs", state.before, first)
    tables += heat_table("outputs now", state.now, names)
    tables += heat_table("change in each token's output", state.change[:, None], names)
    body = (
        f'<p role="status">{chip(kind, verdict)}</p>{_crossing(state)}'
        f'<div class="cw-row">{tables}</div>'
    )
    words = " ".join(state.tokens[i] for i in order)
    return Picture(body, f"Permutation explorer. Order now: {words}. {verdict}")


class PermutationExplorer(Explorer):
    title = "Permutation explorer"

    def __init__(self, state: PermutationState):
        self.history = History(state)
        names = [(f"{i + 1} {token}", i) for i, token in enumerate(state.tokens)]
        controls = {
            "chosen": menu("Token", names, "170px", state.chosen),
            "positions": tick("add positions", "130px", state.positions),
            "mask": tick("causal mask", "120px", state.mask),
        }
        left, right = button("Move left", "90px"), button("Move right", "95px")
        back = button("Reverse", "80px")
        self._undo, self._redo = button("Undo", "65px"), button("Redo", "65px")
        reset = button("Reset", "65px")
        left.on_click(lambda _: self.show(self.state.moved(-1)))
        right.on_click(lambda _: self.show(self.state.moved(+1)))
        back.on_click(lambda _: self.show(self.state.reversed()))
        self._undo.on_click(lambda _: self._travel(self.history.undo))
        self._redo.on_click(lambda _: self._travel(self.history.redo))
        reset.on_click(lambda _: self._travel(self.history.reset))
        buttons = [left, right, back, self._undo, self._redo, reset]
        super().__init__(state, controls, permutation_picture, buttons)

    def _travel(self, move) -> None:
        move()
        self.show(self.history.now)

    def show(self, state: PermutationState) -> None:
        if state != self.history.now:
            self.history.go(state)
        self._undo.disabled = not self.history.can_undo
        self._redo.disabled = not self.history.can_redo
        super().show(state)


def permutation_explorer(
    tokens: Sequence[str] = ("the", "cat", "saw", "me"),
    positions: bool = False,
    mask: bool = False,
    seed: int = 0,
) -> PermutationExplorer:
    """Move tokens and watch the outputs, with and without positions and a causal mask."""
    state = PermutationState(tuple(map(str, tokens)), (), positions, mask, seed)
    return PermutationExplorer(state)
