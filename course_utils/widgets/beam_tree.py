"""Beam search as a tree: what was tried at each step, what was kept and what was dropped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape

from .numbers import fixed
from .picture import svg, text
from .view import Explorer, button, menu, tick

_COLUMNS = 7
_MANY = 12


@dataclass(frozen=True)
class Node:
    """One way to go on: its token, the node it follows, and the score of the whole sentence."""

    token: str
    score: float
    parent: int | None
    kept: bool
    finished: bool


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
    """A search, up to which step it is drawn, and whether what was dropped is."""

    steps: tuple[tuple[Node, ...], ...]
    step: int
    dropped: bool = True

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


def _drawing(state: BeamState) -> str:
    wide, high, box = 132, 44, 112
    first = max(0, state.step - _COLUMNS + 1)
    columns = range(first, state.step + 1)
    best = set(state.path(*state.best))
    place: dict[tuple[int, int], tuple[float, float]] = {}
    tallest = 1
    for s in columns:
        seen = [p for p, node in enumerate(state.steps[s]) if node.kept or state.dropped]
        seen.sort(key=lambda p: -state.steps[s][p].score)
        tallest = max(tallest, len(seen))
        for row, p in enumerate(seen):
            place[s, p] = (12 + (s - first) * wide, 34 + row * high)
    parts = [
        text(12 + (s - first) * wide, 18, f"step {s + 1}", class_="q", size=12) for s in columns
    ]
    for (s, p), (x, y) in place.items():
        parent = state.steps[s][p].parent
        if parent is not None and (s - 1, parent) in place:
            px, py = place[s - 1, parent]
            on_best = (s, p) in best
            dash = "" if state.steps[s][p].kept else ' stroke-dasharray="3 3"'
            parts.append(
                f'<path class="{"s1" if on_best else "axis"}" '
                f'stroke-width="{3 if on_best else 1}"{dash} '
                f'd="M{px + box} {py + 15}C{px + box + 12} {py + 15} {x - 12} {y + 15} '
                f'{x} {y + 15}"/>'
            )
    for (s, p), (x, y) in place.items():
        node = state.steps[s][p]
        on_best = (s, p) in best
        dash = "" if node.kept else ' stroke-dasharray="3 3"'
        parts.append(
            f'<rect class="{"s1" if on_best else "axis"}" '
            f'stroke-width="{2.5 if on_best else 1}"{dash} '
            f'x="{x}" y="{y}" width="{box}" height="32" rx="5"/>'
        )
        token = node.token if len(node.token) <= 14 else node.token[:13] + "…"
        style = {} if node.kept else {"class_": "q"}
        parts.append(text(x + 7, y + 14, token, size=12, **style))
        state_word = "kept" if node.kept else "dropped"
        if node.finished:
            state_word = "finished"
        parts.append(text(x + 7, y + 27, f"{fixed(node.score)} {state_word}", size=10, class_="q"))
    bs, bp = state.best
    words = (
        f"Beam search up to step {state.step + 1}. Best so far: {state.sentence(bs, bp)}, score "
        f"{fixed(state.steps[bs][bp].score)}."
    )
    return svg(24 + len(columns) * wide, 40 + tallest * high, words, parts)


def _table(state: BeamState) -> str:
    nodes = state.steps[state.step]
    order = sorted(range(len(nodes)), key=lambda p: -nodes[p].score)
    rows = []
    for rank, p in enumerate(order, 1):
        node = nodes[p]
        fate = "finished" if node.finished else "kept" if node.kept else "dropped"
        if not node.kept and not state.dropped:
            continue
        sentence = escape(state.sentence(state.step, p))
        rows.append(
            f'<tr><th scope="row">{rank}</th><td style="text-align:left;white-space:normal">{sentence}</td>'
            f"<td>{fixed(node.score)}</td><td>{fate}</td></tr>"
        )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("score", "fate"))
    head = f'<th></th><th scope="col" style="text-align:left">sentence</th>{head}'
    return (
        f"<table><caption>hypotheses at step {state.step + 1}, best first</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def beam_picture(state: BeamState) -> tuple[str, str]:
    """The picture as HTML, and the same in words."""
    bs, bp = state.best
    best = f"Best so far: {state.sentence(bs, bp)} ({fixed(state.steps[bs][bp].score)})."
    earlier = state.step - _COLUMNS + 1
    note = f" Steps 1 to {earlier} are out of the picture." if earlier > 0 else ""
    body = f"{_drawing(state)}<p>{escape(best + note)}</p>{_table(state)}"
    return body, f"Beam search tree, step {state.step + 1} of {len(state.steps)}. {best}"


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
