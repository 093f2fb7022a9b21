"""What a student calls in a notebook: check an answer, ask whether it is ready, hand in."""

import contextlib
import html
import json
import os
import signal
import sys
import threading
from pathlib import Path

from course_utils import register

PATIENCE_SECONDS = 20
ANSWER_STUB = "*Write your answer here.*"


def check(answer, *, quiet: bool = False):
    """Check an exercise, given what you wrote for it or the exercise's id, and show the result."""
    from course_utils.checks import coach, judge, panel

    exercise_id, namespace = _locate(answer, sys._getframe(1).f_globals)
    verdict = judge_here(judge.make_plan(exercise_id, student=_student(namespace)), namespace)
    if not quiet:
        lines = coach.more(verdict, namespace)
        _show(panel.html(verdict, more=lines), panel.text(verdict, more=lines))
    return verdict


def ready(*exercise_ids: str) -> bool:
    """Whether the exercises that a cell needs are done; says in a line which one is not."""
    from course_utils.checks import judge

    namespace = sys._getframe(1).f_globals
    for exercise_id in exercise_ids:
        plan = judge.make_plan(exercise_id, judge.VISIBLE_SEEDS[:1], _student(namespace))
        verdict = judge_here(plan, namespace)
        if verdict.points == 0:
            title = register.exercise(exercise_id).title
            print(
                f"This cell needs {title} (exercise {exercise_id}): finish it, then run this again."
            )
            return False
    return True


def ready_to_submit(notebook: str) -> None:
    """Which exercises are done, what the visible checks give, and whether the file is in order."""
    from course_utils.checks import judge, panel

    namespace = sys._getframe(1).f_globals
    saved, problems = _saved_notebook(notebook)
    rows, total, extra = [], 0.0, 0.0
    for exercise in register.exercises(notebook):
        if exercise.checked:
            plan = judge.make_plan(exercise.id, student=_student(namespace))
            verdict = judge_here(plan, namespace)
            if exercise.extra:
                extra += verdict.points
            else:
                total += verdict.points
            state = "done" if verdict.passed else ("partly" if verdict.points else "to do")
            rows.append((exercise, state, panel.rounded(verdict.points)))
        else:
            rows.append((exercise, _written_state(exercise.id, saved), "read by a person"))
    if saved is not None:
        problems += _differences(notebook, saved, namespace)
    _show(*_submission_table(notebook, rows, total, extra, problems))


def _student(namespace: dict) -> str | None:
    """The id a student typed, for exercises that give each student numbers of their own."""
    given = namespace.get("student_id")
    return given if isinstance(given, str) and given else None


def _locate(answer, namespace: dict) -> tuple[str, dict]:
    """The exercise that `answer` belongs to, and the names that it is checked among."""
    if isinstance(answer, str):
        return register.exercise(answer).id, namespace
    name = getattr(answer, "__name__", type(answer).__name__)
    entry = register.exercise_defining(name)
    if entry is None:
        raise ValueError(
            f"No exercise asks for something called {name!r}. "
            'Give the exercise by its id, as in check("dot-prod-attention").'
        )
    return entry.id, {**namespace, name: answer}


def judge_here(plan, namespace: dict):
    """The verdict on what `namespace` defines, which is asked in this process."""
    from course_utils.checks import judge, probes, wire

    request = wire.pack_request({plan.exercise: plan.flat})
    try:
        with _patience(PATIENCE_SECONDS):
            frame = probes.answer(request, namespace)
    except TimeoutError:
        return judge.failed_verdict(
            plan.exercise,
            f"Your code ran for more than {PATIENCE_SECONDS} seconds and was stopped.",
            "Is there a loop that never ends?",
        )
    return judge.verdict(plan, wire.unpack_response(frame)[plan.exercise])


class _TooLong(BaseException):
    """Not an Exception, so that a student's `except Exception` does not swallow it."""


@contextlib.contextmanager
def _patience(seconds: float):
    """Stop an answer that never ends, where the system can (not on Windows)."""
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(signum, frame):
        raise _TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _TooLong:
        raise TimeoutError from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _show(as_html: str, as_text: str) -> None:
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ModuleNotFoundError:
        print(as_text)
        return
    if get_ipython() is None:
        print(as_text)
        return
    display({"text/html": as_html, "text/plain": as_text}, raw=True)


# ---- the file that is handed in ---------------------------------------------


def _saved_notebook(notebook: str) -> tuple[dict | None, list[str]]:
    """The notebook as it is saved, where it can be found, and what is odd about its name."""
    in_colab = "google.colab" in sys.modules
    if in_colab:
        with contextlib.suppress(Exception):
            from google.colab import _message  # the only way Colab gives its own notebook

            return _message.blocking_request("get_ipynb", timeout_sec=10)["ipynb"], []
        return None, []
    session = os.environ.get("JPY_SESSION_NAME") or os.environ.get("PAPERMILL_INPUT_PATH", "")
    path = Path(session)
    if not session or not path.is_file():
        return None, []
    wanted = f"{notebook}.ipynb"
    problems = []
    if path.name != wanted:
        problems.append(
            f"The file is called {path.name}. Rename it to {wanted} before you hand in."
        )
    try:
        return json.loads(path.read_text(encoding="utf-8")), problems
    except (OSError, ValueError):
        return None, [*problems, f"The saved file {path.name} cannot be read. Save it again."]


def _cell(saved: dict, grade_id: str) -> str | None:
    for cell in saved.get("cells", []):
        if cell.get("metadata", {}).get("nbgrader", {}).get("grade_id") == grade_id:
            source = cell.get("source", "")
            return source if isinstance(source, str) else "".join(source)
    return None


def _written_state(exercise_id: str, saved: dict | None) -> str:
    if saved is None:
        return "look yourself"
    source = _cell(saved, exercise_id)
    if source is None:
        return "cell missing"
    return "to do" if ANSWER_STUB in source else "written"


def _differences(notebook: str, saved: dict, namespace: dict) -> list[str]:
    """Cells that are gone from the saved file, and code that runs but is not saved."""
    problems = []
    history = "\n".join(map(str, namespace.get("In", [])))
    for exercise in register.exercises(notebook):
        source = _cell(saved, exercise.id)
        if source is None:
            problems.append(
                f"The cell of {exercise.title} is missing or has lost its tag: copy your answer "
                "into a fresh copy of the notebook."
            )
        elif exercise.checked and history and source.strip() and source.strip() not in history:
            problems.append(
                f"{exercise.title} was run in another form than the one that is saved. "
                "Run its cell again and save the notebook (Ctrl+S)."
            )
    return problems


def _submission_table(notebook, rows, total, extra, problems) -> tuple[str, str]:
    possible = sum(e.points for e in register.exercises(notebook) if e.checked and not e.extra)
    title = f"{notebook}: {round(total, 2):g} of {possible:g} points on the visible checks"
    title += f", and {round(extra, 2):g} extra" if extra else ""
    lines = [title]
    body = []
    for exercise, state, points in rows:
        mark = {"done": "✓", "written": "✓"}.get(state, "✗" if state != "look yourself" else "?")
        lines.append(f"  {mark} {exercise.title}: {state} ({points} of {exercise.points:g})")
        cells = (mark, exercise.title, state, points, f"{exercise.points:g}")
        body.append("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells) + "</tr>")
    closing = problems or [
        "The file is in order. Hidden checks use other numbers and decide the grade."
    ]
    lines += [f"  ! {p}" if problems else f"  {p}" for p in closing]
    notes = "".join(f"<li>{html.escape(p)}</li>" for p in closing)
    head = "".join(f"<th>{h}</th>" for h in ("", "exercise", "state", "points", "of"))
    as_html = (
        f"<h4>{html.escape(title)}</h4><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table><ul>{notes}</ul>"
    )
    return as_html, "\n".join(lines)
