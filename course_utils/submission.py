"""Ready to submit: the saved file, the cells that were run, and what does not fit together."""

import ast
import contextlib
import html
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course_utils import packages, register
from course_utils.checks import panel
from course_utils.checks.judge import Verdict
from course_utils.register import Exercise

ANSWER_STUB = "*Write your answer here.*"
CHECKLISTS = Path(__file__).with_name("written.toml")
FEWEST_WORDS = 3
IN_ORDER = "The saved file is in order. Hidden checks with different numbers decide the grade."
UNREAD = (
    "The file cannot be read from here{where}. Save it (Ctrl+S), download it, and check "
    "yourself that it contains every answer, including the written ones."
)


@dataclass(frozen=True)
class SavedFile:
    """The saved notebook; `content` is None if it can't be read, and `where` gives the reason."""

    content: dict | None
    name: str = ""
    where: str = ""


def read(notebook: str, namespace: dict) -> SavedFile:
    """The saved notebook, from Colab or from the disk, if one of them can provide it."""
    if "google.colab" in sys.modules:
        with contextlib.suppress(Exception):
            from google.colab import _message  # the only way Colab gives its own notebook

            return SavedFile(_message.blocking_request("get_ipynb", timeout_sec=10)["ipynb"])
        return SavedFile(None, where=" (Colab did not answer)")
    places = (
        namespace.get("__vsc_ipynb_file__"),
        os.environ.get("JPY_SESSION_NAME"),
        os.environ.get("PAPERMILL_INPUT_PATH"),
    )
    path = next((Path(place) for place in places if place and Path(place).is_file()), None)
    if path is None:
        return SavedFile(None, where=" (this program does not reveal where the notebook is)")
    try:
        return SavedFile(json.loads(path.read_text(encoding="utf-8")), path.name)
    except (OSError, ValueError):
        return SavedFile(None, path.name, f" ({path.name} is not a notebook that can be read)")


def history_of(namespace: dict) -> list[str]:
    """The cells that were run, by their numbers; number 0 is empty."""
    return [str(cell) for cell in namespace.get("In", [])]


def cell_of(content: dict, grade_id: str) -> str | None:
    for cell in content.get("cells", []):
        if cell.get("metadata", {}).get("nbgrader", {}).get("grade_id") == grade_id:
            source = cell.get("source", "")
            return source if isinstance(source, str) else "".join(source)
    return None


# ---- what was run -------------------------------------------------------------


@cache
def defined_in(source: str) -> dict[str, str]:
    """The names that a cell gives a value, each with the line that does."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # a magic, or a cell that never ran
        return {}
    lines = source.splitlines()
    found: dict[str, str] = {}
    for node in _statements(tree):
        for name in _given_a_value(node):
            found[name] = lines[node.lineno - 1].strip()
    return found


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """All statements that run when the cell does; those inside a function do not."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt):
            yield node
            if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                yield from _statements(node)


def _given_a_value(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        yield node.name
    targets: list = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For):
        targets = [node.target]
    for target in targets:
        yield from _changed(target)


def _changed(target: ast.expr) -> Iterator[str]:
    """The names that an assignment to `target` changes: in `a[i] = 1` that is a, not i."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Subscript | ast.Attribute | ast.Starred):
        yield from _changed(target.value)
    elif isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _changed(part)


def answer_cell(exercise: Exercise, history: list[str]) -> int | None:
    """The number of the last cell that gave all names of an exercise at once: the answer's."""
    for number in reversed(range(len(history))):
        if set(exercise.names) <= defined_in(history[number]).keys():
            return number
    return None


def overwritten(exercise: Exercise, history: list[str]) -> Iterator[str]:
    """Names of an answer that a later cell gave another value."""
    if not exercise.names or (answer := _answer_before_scratch(exercise, history)) is None:
        return
    for name in exercise.names:
        for number in range(len(history) - 1, answer, -1):
            line = defined_in(history[number]).get(name)
            if line is not None:
                yield (
                    f"Cell [{number}] gave `{name}` another value: `{line[:80]}`. Use a different "
                    "name there, and run the cell with your answer again."
                )
                break


def _answer_before_scratch(exercise: Exercise, history: list[str]) -> int | None:
    """The answer's cell, which for code is a definition; `f = ...` in a later cell is not one."""
    for number in reversed(range(len(history))):
        found = defined_in(history[number])
        if set(exercise.names) <= found.keys() and (
            exercise.kind != "code"
            or all(found[n].startswith(("def ", "class ", "async ", "@")) for n in exercise.names)
        ):
            return number
    return None


# ---- what is said -----------------------------------------------------------------


def problems(notebook: str, file: SavedFile, history: list[str]) -> list[str]:
    """What is odd about the saved file, and about what was run since."""
    found = []
    if file.content is None:
        found.append(UNREAD.format(where=file.where))
    if file.name and file.name != f"{notebook}.ipynb":
        found.append(f"The file is called {file.name}. Rename it to {notebook}.ipynb.")
    for exercise in register.exercises(notebook):
        source = None if file.content is None else cell_of(file.content, exercise.id)
        if file.content is not None and source is None:
            found.append(
                f"The cell for {exercise.title} is missing or has lost its tag. Copy your answer "
                "into a fresh copy of the notebook."
            )
        if exercise.checked:
            found += _problems_of_code(exercise, source, history)
    empty = [
        f"“{exercise.title}”"
        for exercise in register.exercises(notebook)
        if not exercise.checked and written_state(exercise.id, file) == "to do"
    ]
    if empty:
        found.append(
            f"In the saved file nothing is written yet for {', '.join(empty)}. If you have written "
            "an answer, save the notebook (Ctrl+S) and run this cell again."
        )
    return found


def _problems_of_code(exercise: Exercise, source: str | None, history: list[str]) -> Iterator[str]:
    number = answer_cell(exercise, history)
    if source is not None and number is not None and history[number].strip() != source.strip():
        yield (
            f"The saved answer to “{exercise.title}” is not what you ran last, in cell [{number}]. Save "
            "the notebook (Ctrl+S). If the saved version is the newer one, run its cell again."
        )
    for sentence in overwritten(exercise, history):
        yield f"{exercise.title}: {sentence}"
    written = source if source is not None else (history[number] if number else "")
    for package in packages.not_available(written):
        yield (
            f"{exercise.title} imports {package}, which the grader does not have. Do without it, or ask "
            "whether it can be installed."
        )


def written_state(exercise_id: str, file: SavedFile) -> str:
    if file.content is None:
        return "check yourself"
    source = cell_of(file.content, exercise_id)
    if source is None:
        return "cell missing"
    own = re.sub(
        r"^#+ .*$|^\s*(?:\.\.\.|…|TODO)\s*$", "", source.replace(ANSWER_STUB, ""), flags=re.M
    )
    return "written" if len(own.split()) >= FEWEST_WORDS else "to do"


@cache
def _checklists() -> dict[str, list[str]]:
    return tomllib.loads(CHECKLISTS.read_text(encoding="utf-8"))["checklist"]


def table(
    notebook: str, verdicts: Mapping[str, Verdict], file: SavedFile, history: list[str]
) -> tuple[str, str]:
    """The page as HTML and as text."""
    rows, lists = [], []
    total = extra = 0.0
    for exercise in register.exercises(notebook):
        if exercise.checked:
            verdict = verdicts[exercise.id]
            total += 0 if exercise.extra else verdict.points
            extra += verdict.points if exercise.extra else 0
            state = "done" if verdict.passed else ("partly" if verdict.points else "to do")
            rows.append((exercise, state, panel.rounded(verdict.points)))
        else:
            state = written_state(exercise.id, file)
            rows.append((exercise, state, "read by a person"))
            if state in ("written", "check yourself"):
                lists.append((exercise.title, _checklists().get(exercise.id, [])))
    possible = sum(e.points for e in register.exercises(notebook) if e.checked and not e.extra)
    title = f"{notebook}: {round(total, 2):g} of {possible:g} points on the visible checks"
    title += f", and {round(extra, 2):g} extra" if extra else ""
    closing = problems(notebook, file, history)
    return _as_html(title, rows, closing, lists), _as_text(title, rows, closing, lists)


MARKS = {"done": "✓", "written": "✓", "check yourself": "?"}


def _as_text(title, rows, closing, lists) -> str:
    lines = [title]
    for exercise, state, points in rows:
        mark = MARKS.get(state, "✗")
        of = f" of {exercise.points:g}" if exercise.checked else f", worth {exercise.points:g}"
        lines.append(f"  {mark} {exercise.title}: {state} ({points}{of})")
    lines += [f"  ! {problem}" for problem in closing] or [f"  {IN_ORDER}"]
    for name, questions in lists:
        if questions:
            lines.append(f"  Check yourself: {name}")
            lines += [f"    - {question}" for question in questions]
    return "\n".join(lines)


# On a phone long names are broken, so that no column leaves the page.
LEFT_CELL = '<td style="text-align:left;white-space:normal;overflow-wrap:anywhere">'


def _as_html(title, rows, closing, lists) -> str:
    body = []
    for exercise, state, points in rows:
        mark = MARKS.get(state, "✗")
        of = (
            f"{points} of {exercise.points:g}"
            if exercise.checked
            else f"{exercise.points:g}, {points}"
        )
        cells = (mark, exercise.title, state, of)
        body.append("<tr>" + "".join(f"{LEFT_CELL}{html.escape(c)}</td>" for c in cells) + "</tr>")
    head = "".join(
        f'<th style="text-align:left">{title}</th>' for title in ("", "exercise", "state", "points")
    )
    notes = "".join(f"<li>{panel.escape(problem)}</li>" for problem in closing or [IN_ORDER])
    folded = "".join(
        f"<details><summary>Check yourself: {html.escape(name)}</summary><ul>"
        + "".join(f"<li>{html.escape(question)}</li>" for question in questions)
        + "</ul></details>"
        for name, questions in lists
        if questions
    )
    return (
        f'<h4 style="line-height:1.35">{html.escape(title)}</h4>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table><ul>{notes}</ul>{folded}"
    )
