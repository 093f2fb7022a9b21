"""Which exercise is being asked: checks set it, and stand-ins refuse to answer their own."""

import contextlib
from collections.abc import Iterator

_exercise = ""


@contextlib.contextmanager
def asking(exercise: str) -> Iterator[None]:
    """Inside, `exercise` is the one that is being asked."""
    global _exercise
    before, _exercise = _exercise, exercise
    try:
        yield
    finally:
        _exercise = before


def asked_now() -> str:
    """The exercise that is being asked, empty outside a check."""
    return _exercise
