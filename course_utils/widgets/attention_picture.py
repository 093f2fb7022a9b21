"""The chain from scores to output, drawn as tables with numbers."""

from html import escape

import numpy as np

from course_utils.editor.attention_state import AttentionState, Chain, Head, Setup
from course_utils.editor.challenges import ChallengeResult
from course_utils.editor.numbers import exact
from course_utils.figures.chart import heat_table
from course_utils.figures.numbers import shown, weight
from course_utils.figures.picture import Picture, chip


def _names(letter: str, count: int) -> list[str]:
    return [f"{letter}{i + 1}" for i in range(count)]


def _rows_of_numbers(caption: str, matrix: np.ndarray, rows: list[str]) -> str:
    """A table with numbered columns, so that its rows are level with those of the maps."""
    return heat_table(caption, matrix, rows, _names("", matrix.shape[1]))


def _head_tables(setup: Setup, head: Head, number: int) -> list[str]:
    mark = f"<sub>{number}</sub>" if setup.heads == 2 else ""
    queries, keys = _names("q", len(head.Q)), _names("k", len(head.K))
    tables = []
    if not setup.direct:
        for name, matrix, rows in (
            ("Q", head.Q, queries),
            ("K", head.K, keys),
            ("V", head.V, _names("v", len(head.V))),
        ):
            caption = f"{name}{mark} = X W<sub>{name}</sub>{mark}"
            tables.append(_rows_of_numbers(caption, matrix, rows))
    tables.append(heat_table(f"scores = Q{mark} K{mark}ᵀ", head.scores, queries, keys))
    size = head.K.shape[1]
    words = f"scaled = scores / √{size}" if setup.scale else "scaled: off, scores unchanged"
    tables.append(heat_table(words, head.scaled, queries, keys))
    if setup.mask != "none":
        tables.append(heat_table(f"masked ({setup.mask})", head.masked, queries, keys))
    rule = setup.rule
    if rule == "softmax" and setup.temperature != 1:
        rule = f"softmax, temperature {exact(setup.temperature)}"
    tables.append(
        heat_table(
            f"weights = {rule}",
            head.weights,
            queries,
            keys,
            write=weight,
            highest=1.0,
            mark_largest=True,
        )
    )
    tables.append(
        _rows_of_numbers(
            f"output{mark} = weights V{mark}", head.output, _names("row ", len(head.Q))
        )
    )
    return tables


def _where_rows_look(chain: Chain) -> list[str]:
    """One sentence per row: what a reader who sees no colour needs first."""
    sentences = []
    for number, head in enumerate(chain.heads, 1):
        which = f"head {number}, " if len(chain.heads) == 2 else ""
        for i, row in enumerate(head.weights):
            if i in chain.hidden_rows:
                continue
            top = float(row.max())
            best = np.flatnonzero(row > top - 1e-9).tolist()
            if len(best) == len(row):
                sentences.append(f"{which}row {i + 1} looks at all keys equally ({weight(top)})")
                continue
            keys = " and ".join(str(j + 1) for j in best)
            several = "s" if len(best) > 1 else ""
            sentences.append(
                f"{which}row {i + 1} looks most at key{several} {keys} ({weight(top)})"
            )
    return sentences


def distance_shown(result: ChallengeResult) -> str:
    """The distance, with enough digits to show that it is above the tolerance if it is."""
    above = (d for d in range(4, 20) if round(result.distance, d) > result.tolerance)
    return shown(result.distance, 4 if result.solved else next(above, 20))


def _challenge_note(state: AttentionState) -> str:
    challenge = state.challenge
    if challenge is None:
        return ""
    result = challenge.judge(state.setup)
    if result.solved:
        verdict = chip("good", f"Solved ✓ distance {distance_shown(result)}")
    else:
        verdict = chip("note", f"Distance {distance_shown(result)}")
    aim = f"goal: at most {exact(result.tolerance)}; you may change {challenge.may_edit_words}."
    if result.solved:
        aim += " Copy the line above to your answer."
    return (
        f"<h4>Challenge: {escape(challenge.title)}</h4><p>{escape(challenge.goal)}</p>"
        f'<p role="status">{verdict} <span class="cw-quiet">{escape(aim)}</span></p>'
    )


def _inputs(setup: Setup) -> str:
    """The typed matrices and the choices, for a page that has no fields."""
    tables = "".join(
        heat_table(matrix_title(name, setup.heads), matrix)
        for name, matrix in setup.matrices.items()
    )
    choices = [
        "scores divided by √d" if setup.scale else "scores not scaled",
        f"weights by {setup.rule}",
        f"temperature {exact(setup.temperature)}",
        f"mask: {setup.mask}",
    ]
    return f'<div class="cw-row">{tables}</div><p class="cw-quiet">{"; ".join(choices)}</p>'


def _lines_to_copy(state: AttentionState) -> str:
    """The answers to solved challenges, for a page that has no field to copy them from."""
    code = state.answers_as_code()
    return f"<p>Copy to your answer:</p><pre>{escape(code)}</pre>" if code else ""


def matrix_title(name: str, heads: int) -> str:
    """A matrix's name as HTML, with its head where there are two."""
    base, _, sub = name.removesuffix("2").partition("_")
    title = base + (f"<sub>{escape(sub)}</sub>" if sub else "")
    if heads == 2 and name not in ("X", "W_O"):
        title += " of head 2" if name.endswith("2") else " of head 1"
    return title


def _hidden_rows_note(chain: Chain) -> str:
    if not chain.hidden_rows:
        return ""
    rows = " and ".join(str(i + 1) for i in chain.hidden_rows)
    several = len(chain.hidden_rows) > 1
    message = chip(
        "note",
        f"The mask hides every key from row{'s' * several} {rows}: "
        "no key is left, so weights and output are 0.",
    )
    return f"<p>{message}</p>"


def editor_fields(state: AttentionState) -> str:
    """What the live fields show, for a page that has none."""
    return _inputs(state.setup) + _lines_to_copy(state)


def editor_picture(state: AttentionState) -> Picture:
    """The whole chain, from scores to output."""
    setup, chain = state.setup, state.chain
    parts = [_challenge_note(state), _hidden_rows_note(chain)]
    for number, head in enumerate(chain.heads, 1):
        if setup.heads == 2:
            parts.append(f"<h4>Head {number}</h4>")
        parts.append(f'<div class="cw-row">{"".join(_head_tables(setup, head, number))}</div>')
    if setup.heads == 2:
        table = _rows_of_numbers(
            "output = [output<sub>1</sub>, output<sub>2</sub>] W<sub>O</sub>",
            chain.output,
            _names("row ", len(chain.output)),
        )
        parts.append(f'<h4>Both heads</h4><div class="cw-row">{table}</div>')
    words = "; ".join(_where_rows_look(chain)[:16])
    if words:
        words = words[0].upper() + words[1:] + "."
        parts.append(f'<p class="cw-quiet">{escape(words)}</p>')
    output = "\n".join(
        "  ".join(shown(value) for value in row) for row in np.atleast_2d(chain.output).tolist()
    )
    return Picture("".join(parts), f"Attention editor. {words}\nOutput:\n{output}")
