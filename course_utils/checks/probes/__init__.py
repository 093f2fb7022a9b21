"""Probes call a student's object on given inputs and return plain arrays; they judge nothing.

This package and `wire` are the only parts of the judge that run next to a student's code.
A probe is a module here with `run(namespace, options) -> Reply`.
"""

import contextlib
import importlib
import io
import warnings
from dataclasses import replace

from course_utils.asked import asking
from course_utils.checks import wire
from course_utils.checks.probes import student_code
from course_utils.checks.probes.student_code import Missing, explain, notes_on


def answer(request: bytes, namespace: dict) -> bytes:
    """Ask what `namespace` defines every question of `request`; returns the replies as one frame."""
    questions = wire.unpack_request(request)
    replies = {}
    for exercise, asks in questions.items():
        with asking(exercise):
            replies[exercise] = _ask_all(exercise, asks, namespace)
    return wire.pack_response(replies)


def cell_failed(exercise: str, problem: BaseException) -> None:
    """Note what the answer's cell raised, to be reported if a name turns out to be missing."""
    student_code.remember_failure(exercise, problem)


def _ask_all(exercise: str, asks: list[wire.Ask], namespace: dict) -> list[wire.Reply]:
    """The replies; the first that fails also gets what would make the answer run."""
    replies, explained = [], False
    for ask in asks:
        reply = _ask(ask, namespace)
        if reply.notes.get("raised") == "AssertionError":
            reply = _without_asserts(ask, namespace, reply)
        elif _is_crash(ask, reply) and not explained:
            from course_utils.checks.probes import trials

            explained = True
            with _quietly():
                found = trials.likely_cause(namespace, exercise, ask.probe, ask.options)
            reply = replace(reply, notes={**reply.notes, **found})
        replies.append(reply)
    return replies


def _is_crash(ask: wire.Ask, reply: wire.Reply) -> bool:
    """Questions called "bad ..." ask for an error; `NotImplementedError` is only the stub's."""
    unwritten = reply.notes.get("raised") == "NotImplementedError"
    return reply.status == "error" and not unwritten and not ask.label.startswith("bad")


def _without_asserts(ask: wire.Ask, namespace: dict, reply: wire.Reply) -> wire.Reply:
    """A failed assert hides what the answer would have returned: the reply with those arrays."""
    bare = student_code.without_asserts(namespace, ask.options.get("target", ""))
    if bare is None:
        return reply
    behind = _ask(ask, bare)
    if behind.status != "ok":
        return reply
    notes = {**behind.notes, **reply.notes, "behind_assert": "yes"}
    return replace(reply, arrays=behind.arrays, notes=notes)


@contextlib.contextmanager
def _quietly():
    """Silence what a student's code prints or warns about: it is no error, and hides the panel."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


def _ask(ask: wire.Ask, namespace: dict) -> wire.Reply:
    probe = importlib.import_module(f"{__name__}.{ask.probe}")
    with _quietly():
        try:
            return probe.run(namespace, ask.options)
        except Missing as missing:
            return wire.Reply("missing", notes=missing.notes, error=str(missing))
        except (Exception, SystemExit) as problem:
            return wire.Reply("error", notes=notes_on(problem), error=explain(problem))
