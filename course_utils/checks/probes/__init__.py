"""Probes call a student's object on given inputs and return plain arrays; they judge nothing.

This package, with `wire`, is all of the judge that stands beside a student's code.
A probe is a module here with `run(namespace, options) -> Reply`.
"""

import contextlib
import importlib
import io
import warnings

from course_utils.checks import wire
from course_utils.checks.probes import student_code
from course_utils.checks.probes.student_code import Missing, explain, notes_on


def answer(request: bytes, namespace: dict) -> bytes:
    """Put every question of `request` to what `namespace` defines; the replies as one frame."""
    questions = wire.unpack_request(request)
    replies = {}
    for exercise, asks in questions.items():
        with student_code.answering(exercise):
            replies[exercise] = [_ask(ask, namespace) for ask in asks]
    return wire.pack_response(replies)


def cell_failed(exercise: str, problem: BaseException) -> None:
    """The cell with the answer to `exercise` raised this: told if a name turns out to be missing."""
    student_code.remember_failure(exercise, problem)


def _ask(ask: wire.Ask, namespace: dict) -> wire.Reply:
    probe = importlib.import_module(f"{__name__}.{ask.probe}")
    # What a student's code prints or warns about is never an error, and would bury the panel.
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        try:
            return probe.run(namespace, ask.options)
        except Missing as missing:
            return wire.Reply("missing", notes=missing.notes, error=str(missing))
        except (Exception, SystemExit) as problem:
            return wire.Reply("error", notes=notes_on(problem), error=explain(problem))
