"""A view over all notebooks of a student: what has passed, what is left, and the points so far.

It reads saved files and runs nothing: an exercise has passed if its saved check shows that.
"""

import html
import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from course_utils import register
from course_utils.notebook import show
from course_utils.register import Exercise, Notebook

DRIVE = Path("/content/drive/MyDrive")
COLAB_NOTEBOOKS = DRIVE / "Colab Notebooks"
RESULT = re.compile(r"\(([\d.]+) of [\d.]+ points\)")
PASSED = ("passed", "written")
NOT_FOUND = (
    "No notebook of the course was found in {places}. Save one there, or name the folder: "
    'progress("path/to/folder").'
)
SAVED = (
    "This counts what your saved notebooks contain. To count your latest work, save (Ctrl+S) and run "
    "this cell again."
)
MOUNT = (
    " In Colab, your saved copies are in your Drive. Give this notebook access to it: "
    "from google.colab import drive; drive.mount('/content/drive')"
)


@dataclass(frozen=True)
class Done:
    """The progress of one exercise in its saved notebook: a state in words, and its points."""

    exercise: Exercise
    state: str
    points: float = 0.0


@dataclass(frozen=True)
class Work:
    """One notebook with all its exercises; `file` is None if there is no saved one."""

    notebook: Notebook
    file: Path | None
    done: tuple[Done, ...]

    @property
    def points(self) -> float:
        """The points so far, without extra credit: that comes on top of the total."""
        return sum(one.points for one in self.done if not one.exercise.extra)

    @property
    def extra(self) -> float:
        return sum(one.points for one in self.done if one.exercise.extra)

    @property
    def left(self) -> list[Done]:
        return [one for one in self.done if one.state not in PASSED]


def progress(folder: str | Path | None = None) -> None:
    """Show what has passed, what is left and the points so far, from your saved notebooks.

    `folder` is where they are (default: the folder of this notebook and, in Colab, your Drive).
    """
    places = [Path(folder).expanduser()] if folder is not None else usual_places()
    work = [_read(notebook, places) for notebook in register.notebooks()]
    if not any(one.file for one in work):
        named = " or ".join(f"`{place}`" for place in places)
        said = NOT_FOUND.format(places=named)
        print(said + (MOUNT if "google.colab" in sys.modules and not DRIVE.is_dir() else ""))
        return
    show(_as_html(work), _as_text(work))


def usual_places() -> list[Path]:
    """Where a student's notebooks are: next to the running one, or in the mounted Drive."""
    session = os.environ.get("JPY_SESSION_NAME", "")
    here = [Path(session).parent] if session and Path(session).is_file() else []
    places = [*here, Path.cwd(), *([COLAB_NOTEBOOKS] if COLAB_NOTEBOOKS.is_dir() else [])]
    return list(dict.fromkeys(place.resolve() for place in places))


def _read(notebook: Notebook, places: Iterable[Path]) -> Work:
    """The newest saved file of a notebook; "Copy of" and "(1)" are files of it too."""
    found = (path for place in places for path in place.glob(f"*{notebook.name}*.ipynb"))
    files = [path for path in found if path.is_file()]
    for path in sorted(files, key=lambda path: path.stat().st_mtime, reverse=True):
        try:
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            return Work(notebook, path, tuple(_states(notebook, cells)))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue  # not a notebook: perhaps an older file is one
    nothing = (Done(e, "not started") for e in register.exercises(notebook.name))
    return Work(notebook, None, tuple(nothing))


def _states(notebook: Notebook, cells: Sequence[dict]) -> list[Done]:
    from course_utils.submission import SavedFile, written_state

    named = {c.get("metadata", {}).get("nbgrader", {}).get("grade_id"): c for c in cells}
    found = []
    for exercise in register.exercises(notebook.name):
        if exercise.checked:
            found.append(
                _checked(exercise, named.get(exercise.id), named.get(f"{exercise.id}-check"))
            )
        else:
            state = written_state(exercise.id, SavedFile({"cells": list(cells)}))
            found.append(Done(exercise, state))
    return found


def _checked(exercise: Exercise, answer: dict | None, check: dict | None) -> Done:
    if answer is None or check is None:
        return Done(exercise, "cell missing")
    result = RESULT.search(_shown(check))
    if result is None:
        return Done(exercise, "not checked yet")
    if _number(answer) > _number(check):
        return Done(exercise, "changed since its check; run the check again")
    points = min(float(result.group(1)), exercise.points)
    state = "passed" if points == exercise.points else "not yet right"
    return Done(exercise, state, points)


def _shown(check: dict) -> str:
    """The first line that the check printed or showed, as text."""
    for output in check.get("outputs", []):
        text = output.get("text", output.get("data", {}).get("text/plain", ""))
        text = text if isinstance(text, str) else "".join(text)
        if RESULT.search(text):
            return text.splitlines()[0]
    return ""


def _number(cell: dict) -> int:
    """When a cell was last run, by the count of its kernel."""
    return cell.get("execution_count") or 0


# ---- what is shown ------------------------------------------------------------------


def _columns(work: Work) -> tuple[str, str, str, str]:
    """A row in words: the notebook, how many are done, what is left, the points."""
    name = f"{work.notebook.name[:2]} · {work.notebook.title}"
    passed = f"{len(work.done) - len(work.left)} of {len(work.done)}"
    if work.file is None:
        left = "everything (not started)"
    elif not work.left:
        left = "nothing"
    else:
        titles: dict[str, list[str]] = {}
        for one in work.left:
            titles.setdefault(one.state, []).append(one.exercise.title)
        left = "; ".join(f"{', '.join(same)} ({state})" for state, same in titles.items())
    extra = f" and {work.extra:g} extra" if work.extra else ""
    return name, passed, left, f"{work.points:g} of {_possible([work]):g}{extra}"


def _possible(work: Sequence[Work]) -> float:
    """The points that checks give; written answers are marked by a person."""
    everything = (one.exercise for notebook in work for one in notebook.done)
    return sum(e.points for e in everything if e.checked and not e.extra)


def _headline(work: Sequence[Work]) -> str:
    total = sum(one.points for one in work)
    written = sum(d.exercise.points for one in work for d in one.done if d.state == "written")
    extra = sum(one.extra for one in work)
    line = f"Your course: {total:g} of {_possible(work):g} points on the visible checks"
    line += f" and {extra:g} extra" if extra else ""
    return line + (
        f", and {written:g} in written answers, which a person reads." if written else "."
    )


def _as_text(work: Sequence[Work]) -> str:
    rows = [_columns(one) for one in work]
    return "\n".join(
        [
            _headline(work),
            *(
                f"  {name}: {passed} done, {points} points. Left: {left}."
                for name, passed, left, points in rows
            ),
            SAVED,
        ]
    )


# On a phone long names are broken, so that no column leaves the page.
LEFT = "text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:4em"
WHOLE = "text-align:left;white-space:normal"


def _as_html(work: Sequence[Work]) -> str:
    head = "".join(
        f'<th scope="col" style="text-align:left">{title}</th>'
        for title in ("notebook", "done", "left", "points")
    )
    body = ""
    for one in work:
        name, done, left, points = map(html.escape, _columns(one))
        body += f'<tr><th scope="row" style="{WHOLE}">{name}</th><td style="{WHOLE}">{done}</td>'
        body += f'<td style="{LEFT}">{left}</td><td style="{WHOLE}">{points}</td></tr>'
    return (
        f'<h4 style="line-height:1.35">{html.escape(_headline(work))}</h4>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{SAVED}</p>"
    )
