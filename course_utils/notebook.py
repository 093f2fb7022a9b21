"""What a student calls in a notebook: check an answer, see whether it is ready, hand in."""

import contextlib
import inspect
import signal
import sys
import textwrap
import threading
from collections.abc import Iterable

from course_utils import own, register

PATIENCE_SECONDS = 20


def check(answer, *, quiet: bool = False):
    """Check an exercise, given what you wrote for it or the exercise's id, and show the result."""
    from course_utils.checks import coach, judge, panel

    exercise_id, namespace = _locate(answer, sys._getframe(1).f_globals)
    verdict = _judged(judge.make_plan(exercise_id, student=_student(namespace)), namespace)
    if not quiet:
        lines = _overwritten(verdict, namespace) + coach.more(verdict, namespace)
        lines += _on_a_gpu(verdict, namespace)
        show(panel.html(verdict, more=lines), panel.text(verdict, more=lines))
    return verdict


def ready(*exercise_ids: str) -> bool:
    """Whether the exercises that a cell needs are done; prints which one is not."""
    from course_utils.checks import judge

    namespace = sys._getframe(1).f_globals
    for exercise_id in exercise_ids:
        plan = judge.make_plan(exercise_id, judge.VISIBLE_SEEDS[:1], _student(namespace))
        verdict = _judged(plan, namespace)
        if verdict.points == 0:
            title = register.exercise(exercise_id).title
            print(
                f"This cell needs {title} (exercise {exercise_id}). Finish that, then run this again."
            )
            return False
    return True


def ready_to_submit(notebook: str) -> None:
    """Show which exercises are done, their points, and whether the saved file is in order."""
    from course_utils import submission
    from course_utils.checks import judge

    namespace = sys._getframe(1).f_globals
    file = submission.read(notebook, namespace)
    verdicts = {
        exercise.id: _judged(judge.make_plan(exercise.id, student=_student(namespace)), namespace)
        for exercise in register.exercises(notebook)
        if exercise.checked
    }
    show(*submission.table(notebook, verdicts, file, submission.history_of(namespace)))


def _student(namespace: dict) -> str | None:
    """The id that a student typed, for exercises that give each student different numbers."""
    given = namespace.get("student_id")
    return given if isinstance(given, str) and given else None


def _overwritten(verdict, namespace: dict) -> list[tuple[str, str]]:
    """Whether a later cell has overwritten part of an answer that fails, and which cell."""
    from course_utils import submission

    if verdict.passed:
        return []
    entry = register.exercise(verdict.exercise)
    return [
        ("Overwritten", sentence)
        for sentence in submission.overwritten(entry, submission.history_of(namespace))
    ]


def _on_a_gpu(verdict, namespace: dict) -> list[tuple[str, str]]:
    """A warning if a correct answer would crash on a GPU."""
    from course_utils.checks import devices, judge

    if not verdict.passed or register.exercise(verdict.exercise).kind != "code":
        return []
    asks = judge.make_plan(verdict.exercise, verdict.seeds[:1], _student(namespace)).flat
    with contextlib.suppress(Exception), _patience(PATIENCE_SECONDS):
        if devices.stays_on_cpu(asks, namespace):
            return [("Warning", devices.WARNING)]
    return []


def _locate(answer, namespace: dict) -> tuple[str, dict]:
    """The exercise that `answer` belongs to, and the names that it is checked among."""
    if isinstance(answer, str):
        return register.exercise(answer).id, namespace
    name = getattr(answer, "__name__", type(answer).__name__)
    entry = register.exercise_defining(name)
    if entry is None:
        raise ValueError(
            f"No exercise asks for anything called {name!r}. "
            'Name the exercise by its id instead, as in check("dot-prod-attention").'
        )
    return entry.id, {**namespace, name: answer}


def _judged(plan, namespace: dict):
    """The verdict as the grader reaches it: what the answer does, and what its text uses."""
    from course_utils import submission
    from course_utils.checks import judge, may_use

    verdict = judge_here(plan, namespace)
    if verdict.points == 0:
        return verdict  # why it fails is more informative
    names = register.exercise(plan.exercise).names
    history = submission.history_of(namespace)
    texts = may_use.own_cells(names, history) if history else _texts_of(names, namespace)
    said = may_use.refusal(plan.exercise, texts)
    return judge.failed_verdict(plan.exercise, said) if said else verdict


def _texts_of(names: Iterable[str], namespace: dict) -> list[str]:
    """The text of functions and classes that were not written in a notebook, if Python has it."""
    found = []
    for name in names:
        with contextlib.suppress(KeyError, OSError, TypeError):
            found.append(textwrap.dedent(inspect.getsource(namespace[name])))
    return found


def judge_here(plan, namespace: dict):
    """The verdict on what `namespace` defines, tested in this process."""
    from course_utils.checks import judge, probes, wire

    request = wire.pack_request({plan.exercise: plan.flat})
    try:
        with own.stand_ins_alone(), _patience(PATIENCE_SECONDS):
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


def show(as_html: str, as_text: str) -> None:
    """Show something in a notebook, or print it where there is none."""
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
