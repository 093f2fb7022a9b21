"""A verdict as a student sees it: a line per property, expected and actual numbers, one hint."""

import html as _html
import re
from collections.abc import Sequence

import numpy as np

from course_utils import register
from course_utils.checks.judge import Finding, Verdict

MAX_CELLS = 8
# Colours that keep a contrast of 4.5 to 1 on light and on dark pages.
STYLE = """<style>
.attn-panel{--ok:#1a7f37;--bad:#b42318;--soft:#57606a;--line:#8c959f66;
font:14px/1.45 system-ui,sans-serif;color:inherit;max-width:46rem;overflow-wrap:anywhere;border-left:4px solid var(--edge);
padding:.4rem .9rem;margin:.3rem 0}
[data-jp-theme-light="false"] .attn-panel,.theme-dark .attn-panel,html[theme=dark] .attn-panel{
--ok:#4ac26b;--bad:#ff8577;--soft:#adb6c0}
.attn-panel h4{margin:.1rem 0 .4rem;font-size:1.05em;line-height:1.35}
.attn-panel ul:not(.list-inline){list-style:none;margin:0;padding:0}
.attn-panel li{margin:.2rem 0;padding-left:1.6em;text-indent:-1.6em}
.attn-panel li>*{text-indent:0}
.attn-panel .mark{display:inline-block;width:1.6em;font-weight:700}
.attn-panel .ok{color:var(--ok)}.attn-panel .bad{color:var(--bad)}
.attn-panel .why{display:block;white-space:pre-wrap}
.attn-panel .soft{color:var(--soft)}
.attn-panel .hint,.attn-panel .named{margin:.5rem 0 .2rem}
.attn-panel .pair{display:flex;flex-wrap:wrap;gap:1.2rem;margin:.4rem 0;overflow-x:auto}
.attn-panel table.heat{border-collapse:collapse;font:12px/1.2 ui-monospace,monospace;margin:.2rem 0;
width:auto}
.attn-panel table.heat td{border:1px solid var(--line);padding:.2rem .35rem;text-align:right;
min-width:3.4em;color:#111}
.attn-panel table.heat caption{caption-side:top;text-align:left;font:13px system-ui,sans-serif;
color:inherit;padding:0}
.attn-panel td.off{outline:2px solid #b42318;outline-offset:-2px;font-weight:700}
</style>"""


Lines = Sequence[tuple[str, str]]


def html(verdict: Verdict, style: bool = True, more: Lines = ()) -> str:
    """The panel as HTML. All text is escaped: messages may quote a student's own error.

    more: what is shown below, as (heading, text).
    """
    edge = "#1a7f37" if verdict.passed else "#b42318"
    parts = [f'<div class="attn-panel" style="--edge:{edge}" role="group" aria-label="check">']
    parts.append(f"<h4>{escape(_headline(verdict))}</h4>")
    if verdict.sentence:
        parts.append(f'<p class="named"><b>{escape(verdict.sentence)}</b></p>')
    waiting = _waiting(verdict)
    if waiting:
        parts.append(f'<p class="why">{escape(waiting[0].message)}</p>')
    parts.append("<ul>")
    said: set[str] = set()
    for finding in verdict.findings:
        if finding in waiting:
            continue
        mark, word = ("✓", "ok") if finding.passed else ("✗", "bad")
        label = "passed" if finding.passed else "failed"
        parts.append(
            f'<li><span class="mark {word}" role="img" aria-label="{label}">{mark}</span>'
            f"{escape(finding.name)} <span class='soft'>{_points(finding)}</span>"
        )
        if not finding.passed:
            why = "For the same reason." if finding.message in said else finding.message
            said.add(finding.message)
            parts.append(f'<span class="why">{escape(why)}</span>')
        parts.append("</li>")
    if waiting:
        mark = '<span class="mark bad" role="img" aria-label="failed">✗</span>'
        parts.append(f"<li>{mark}{escape(_names(waiting))}</li>")
    parts.append("</ul>")
    drawn = _drawn(verdict)
    if drawn is not None:
        parts.append(_pair(drawn))
    hint = _hint(verdict)
    if hint:
        parts.append(f'<p class="hint"><b>Hint.</b> {escape(hint)}</p>')
    for heading, text in more:
        parts.append(f'<p class="hint"><b>{escape(heading)}.</b> {escape(text)}</p>')
    parts.append("</div>")
    return (STYLE if style else "") + "".join(parts)


def text(verdict: Verdict, more: Lines = ()) -> str:
    """The panel as plain text, where HTML can't be shown."""
    lines = [_headline(verdict)]
    if verdict.sentence:
        lines.append(f"  {verdict.sentence}")
    waiting = _waiting(verdict)
    if waiting:
        lines += [f"  {line}" for line in waiting[0].message.splitlines()]
    said: set[str] = set()
    for finding in verdict.findings:
        if finding in waiting:
            continue
        lines.append(f"  {'✓' if finding.passed else '✗'} {finding.name} {_points(finding)}")
        if not finding.passed:
            why = "For the same reason." if finding.message in said else finding.message
            said.add(finding.message)
            lines += [f"      {line}" for line in why.splitlines()]
    if waiting:
        lines.append(f"  ✗ {_names(waiting)}")
    drawn = _drawn(verdict)
    if drawn is not None:
        # `Wrong` is given both or neither.
        assert drawn.expected is not None and drawn.got is not None
        lines += ["  expected:", *_rows(drawn.expected), "  yours:", *_rows(drawn.got)]
    if _hint(verdict):
        lines.append(f"  Hint: {_hint(verdict)}")
    lines += [f"  {heading}: {words}" for heading, words in more]
    return "\n".join(lines)


def _headline(verdict: Verdict) -> str:
    entry = register.exercise(verdict.exercise)
    state = "everything is right" if verdict.passed else "not yet right"
    return f"{entry.title}: {state} ({rounded(verdict.points)} of {rounded(verdict.max_points)} points)"


def _points(finding: Finding) -> str:
    if not finding.max_points:
        return ""
    return f"({rounded(finding.points)} of {rounded(finding.max_points)})"


def rounded(points: float) -> str:
    """Points as people write them: a share such as 10/7 has two decimals."""
    return f"{round(points, 2):g}"


def _waiting(verdict: Verdict) -> list[Finding]:
    """The properties that wait for one thing, which is reported once: an error, or all they have."""
    stopped = [f for f in verdict.findings if f.stopped]
    if stopped:
        return stopped
    same = len(verdict.findings) > 1 and len({(f.passed, f.message) for f in verdict.findings}) == 1
    return list(verdict.findings) if same and not verdict.passed else []


def _names(waiting: list[Finding]) -> str:
    return f"Waiting for this: {'; '.join(finding.name for finding in waiting)}"


def _drawn(verdict: Verdict) -> Finding | None:
    return next((f for f in verdict.findings if f.expected is not None), None)


def _hint(verdict: Verdict) -> str:
    if verdict.hint:
        return verdict.hint
    return next((f.hint for f in verdict.findings if f.hint), "")


def _cut(array: np.ndarray) -> np.ndarray:
    return np.atleast_2d(array)[:MAX_CELLS, :MAX_CELLS]


def _rows(array: np.ndarray) -> list[str]:
    return ["    " + " ".join(f"{_short(v, array):>7}" for v in row) for row in _cut(array)]


def _pair(finding: Finding) -> str:
    # `Wrong` is given both or neither.
    assert finding.expected is not None and finding.got is not None
    expected, got = _cut(finding.expected), _cut(finding.got)
    low, high = float(expected.min()), float(expected.max())
    off = np.abs(expected - got) > 5e-4 if expected.shape == got.shape else None
    tables = _heat(expected, "Expected", low, high, None)
    tables += _heat(got, "Yours (differences are framed)", low, high, off)
    rows, columns = finding.axes
    axes = [f"rows: {rows}" if rows else "", f"columns: {columns}" if columns else ""]
    note = "; ".join(a for a in axes if a)
    note = f'<div class="soft">{escape(note.capitalize())}</div>' if note else ""
    return f'<div class="pair">{tables}</div>{note}'


def _heat(array, caption, low, high, off) -> str:
    """Numbers on a background from pale to blue; the numbers carry the meaning."""
    rows = []
    for i, row in enumerate(array):
        cells = []
        for j, value in enumerate(row):
            share = 0.0 if high <= low else float(np.clip((value - low) / (high - low), 0, 1))
            colour = f"hsl(210 90% {97 - 35 * share:.0f}%)"
            flag = ' class="off"' if off is not None and off[i, j] else ""
            cells.append(f'<td{flag} style="background:{colour}">{_short(value, array)}</td>')
        rows.append("<tr>" + "".join(cells) + "</tr>")
    body = "".join(rows)
    return f'<table class="heat"><caption>{escape(caption)}</caption>{body}</table>'


def _short(value: float, array: np.ndarray) -> str:
    if not np.isfinite(value):
        return str(value)
    if (array == np.round(array)).all():  # tokens, or a mask
        return f"{value:.0f}"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.3g}"


def escape(value: str) -> str:
    """Text as HTML, with `names` between backticks as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", _html.escape(str(value), quote=True))
