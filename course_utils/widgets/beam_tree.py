"""Beam search as a tree: what was tried at each step, what was kept and what was dropped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape

from course_utils.figures.drawing import drawing, text
from course_utils.figures.numbers import fixed
from course_utils.figures.picture import Picture

from .view import Explorer, button, menu, tick

_COLUMNS = 7  # this many steps fit side by side
_MANY = 12  # with more entries in one step, dropped ones are left out at first
_WIDE, _HIGH, _BOX = 132, 44, 112  # from step to step, from row to row, and the width of a box


@dataclass(frozen=True)
class Node:
    """One continuation: its token, the node it follows, and the score of the whole sentence."""

    token: str
    score: float
    parent: int | None
    kept: bool
    finished: bool

    @property
    def fate(self) -> str:
        return "finished" if self.finished else "kept" if self.kept else "dropped"


def _read(steps: Sequence[Sequence[Mapping]]) -> tuple[tuple[Node, ...], ...]:
    read: list[tuple[Node, ...]] = []
    for number, step in enumerate(steps, 1):
        nodes = []
        for place, entry in enumerate(step, 1):
            where = f"Step {number}, entry {place}"
            if "token" not in entry or "score" not in entry:
                raise ValueError(f"{where} needs a token and a score.")
            parent = entry.get("parent")
            if number == 1 and parent is not None:
                raise ValueError(f"{where}: the first step follows nothing, so parent is None.")
            if number > 1 and (parent is None or not 0 <= parent < len(read[-1])):
                raise ValueError(
                    f"{where}: parent must be the place of an entry in step {number - 1}, "
                    f"from 0 to {len(read[-1]) - 1}."
                )
            nodes.append(
                Node(
                    str(entry["token"]),
                    float(entry["score"]),
                    parent,
                    bool(entry.get("kept", True)),
                    bool(entry.get("finished", False)),
                )
            )
        if not nodes:
            raise ValueError(f"Step {number} is empty.")
        read.append(tuple(nodes))
    if not read:
        raise ValueError("There are no steps to draw.")
    return tuple(read)


@dataclass(frozen=True)
class BeamState:
    """A search, the step up to which it is drawn, and whether dropped hypotheses are shown."""

    steps: tuple[tuple[Node, ...], ...]
    step: int
    dropped: bool = True

    @property
    def columns(self) -> range:
        """The steps that are drawn: the last few up to this one."""
        return range(max(0, self.step - _COLUMNS + 1), self.step + 1)

    def path(self, step: int, place: int) -> list[tuple[int, int]]:
        """The nodes from the first step to this one."""
        way = []
        at: int | None = place
        while step >= 0 and at is not None:
            way.append((step, at))
            at = self.steps[step][at].parent
            step -= 1
        return way[::-1]

    def sentence(self, step: int, place: int) -> str:
        return " ".join(self.steps[s][p].token for s, p in self.path(step, place))

    @property
    def best(self) -> tuple[int, int]:
        """The finished or still open hypothesis with the highest score so far."""
        open_now = [
            (self.step, p) for p, node in enumerate(self.steps[self.step]) if node.kept
        ] or [(self.step, p) for p in range(len(self.steps[self.step]))]
        ended = [
            (s, p)
            for s in range(self.step)
            for p, node in enumerate(self.steps[s])
            if node.finished and node.kept
        ]
        return max(open_now + ended, key=lambda at: self.steps[at[0]][at[1]].score)


Place = tuple[int, int]  # the step, and the place of a node in it


def _left(state: BeamState, step: int) -> int:
    return 12 + (step - state.columns[0]) * _WIDE


def _layout(state: BeamState) -> dict[Place, tuple[int, int]]:
    """The upper left corner of each node that is drawn: the last few steps, best first."""
    corners = {}
    for s in state.columns:
        ranked = sorted(enumerate(state.steps[s]), key=lambda entry: -entry[1].score)
        seen = [p for p, node in ranked if node.kept or state.dropped]
        for row, p in enumerate(seen):
            corners[s, p] = (_left(state, s), 34 + row * _HIGH)
    return corners


def _stroke(on_best: bool, kept: bool, thick: float) -> str:
    dash = "" if kept else ' stroke-dasharray="3 3"'
    return f'class="{"s1" if on_best else "axis"}" stroke-width="{thick if on_best else 1}"{dash}'


def _drawing(state: BeamState) -> str:
    corners = _layout(state)
    best = set(state.path(*state.best))
    parts = [text(_left(state, s), 18, f"step {s + 1}", kind="q") for s in state.columns]
    for (s, p), (x, y) in corners.items():
        node = state.steps[s][p]
        if node.parent is not None and (s - 1, node.parent) in corners:
            px, py = corners[s - 1, node.parent]
            parts.append(
                f"<path {_stroke((s, p) in best, node.kept, 3)} "
                f'd="M{px + _BOX} {py + 15}C{px + _BOX + 12} {py + 15} {x - 12} {y + 15} '
                f'{x} {y + 15}"/>'
            )
    for (s, p), (x, y) in corners.items():
        node = state.steps[s][p]
        parts.append(
            f"<rect {_stroke((s, p) in best, node.kept, 2.5)} "
            f'x="{x}" y="{y}" width="{_BOX}" height="32" rx="5"/>'
        )
        token = node.token if len(node.token) <= 14 else node.token[:13] + "…"
        parts.append(text(x + 7, y + 14, token, kind="" if node.kept else "q"))
        parts.append(text(x + 7, y + 27, f"{fixed(node.score)} {node.fate}", size=10, kind="q"))
    bs, bp = state.best
    words = (
        f"Beam search up to step {state.step + 1}. Best so far: {state.sentence(bs, bp)}, score "
        f"{fixed(state.steps[bs][bp].score)}."
    )
    lowest = max((y for _, y in corners.values()), default=34)
    return drawing(24 + len(state.columns) * _WIDE, lowest + _HIGH + 6, words, parts).html


def _table(state: BeamState) -> str:
    nodes = state.steps[state.step]
    order = sorted(range(len(nodes)), key=lambda p: -nodes[p].score)
    rows = []
    for rank, p in enumerate(order, 1):
        node = nodes[p]
        if not node.kept and not state.dropped:
            continue
        sentence = escape(state.sentence(state.step, p))
        rows.append(
            f'<tr><th scope="row">{rank}</th><td style="text-align:left;white-space:normal">{sentence}</td>'
            f"<td>{fixed(node.score)}</td><td>{node.fate}</td></tr>"
        )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("score", "fate"))
    head = f'<th></th><th scope="col" style="text-align:left">sentence</th>{head}'
    return (
        f"<table><caption>hypotheses at step {state.step + 1}, best first</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def beam_picture(state: BeamState) -> Picture:
    """The tree, and the hypotheses of its last step as a table."""
    bs, bp = state.best
    best = f"Best so far: {state.sentence(bs, bp)} ({fixed(state.steps[bs][bp].score)})."
    earlier = state.columns[0]
    note = f" Steps 1 to {earlier} are not shown." if earlier else ""
    body = f"{_drawing(state)}<p>{escape(best + note)}</p>{_table(state)}"
    words = f"Beam search tree, step {state.step + 1} of {len(state.steps)}. {best}"
    return Picture(body, words)


class BeamTree(Explorer):
    title = "Beam search tree"

    def __init__(self, state: BeamState):
        count = len(state.steps)
        controls = {
            "step": menu(
                "Step", [(f"{i + 1} of {count}", i) for i in range(count)], "140px", state.step
            ),
            "dropped": tick("show what was dropped", "200px", state.dropped),
        }
        back, forth = button("Step back", "95px"), button("Next step", "95px")
        back.on_click(lambda _: self._go(-1))
        forth.on_click(lambda _: self._go(+1))
        super().__init__(state, controls, beam_picture, [back, forth])

    def _go(self, by: int) -> None:
        self._controls["step"].value = min(max(self.state.step + by, 0), len(self.state.steps) - 1)


def beam_tree(steps: Sequence[Sequence[Mapping]]) -> BeamTree:
    """Draw a beam search from a list of steps.

    Each step is a list of entries, each a dict: token; score (of the whole sentence, the log
    probability); parent (the place, from 0, of the entry in the step before that it follows; None
    in the first step); kept (default True: it stayed in the beam); finished (default False: it
    ended the sentence).

        beam_tree([
            [{"token": "a", "score": -0.4, "parent": None},
             {"token": "the", "score": -1.2, "parent": None, "kept": False}],
            [{"token": "dog", "score": -0.9, "parent": 0}],
        ])
    """
    read = _read(steps)
    # A wide search is easier to read without what was dropped; a tick brings it back.
    small = max(map(len, read)) <= _MANY
    whole = BeamState(read, len(read) - 1, dropped=small)
    # A search goes on long after its answer has ended; that is where it is interesting.
    return BeamTree(replace(whole, step=whole.best[0]))
