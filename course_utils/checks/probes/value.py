"""Reads what a student typed: the variables called `names`, as arrays or as text.

With the option `partial`, what is not typed yet is only noted, so that the rest still counts. A
vector or table with empty places comes back as `<name>/rows`, with NaN in those.
"""

import contextlib

import numpy as np

from course_utils.checks.probes.student_code import Missing, as_array, find
from course_utils.checks.wire import Reply

MOST_ROWS = 64
LONGEST_TEXT = 20_000


def run(namespace: dict, options: dict) -> Reply:
    arrays: dict[str, np.ndarray] = {}
    notes: dict[str, str] = {}
    for name in options["names"]:
        try:
            _read(namespace, name, arrays, notes)
        except Missing as missing:
            if not options.get("partial"):
                raise
            notes |= {name: str(missing), **missing.notes}
            try:
                _read_rows(namespace.get(name), name, arrays)
            except Missing as more:
                notes[name] = str(more)
    return Reply("ok", arrays, notes)


def _read(namespace: dict, name: str, arrays: dict, notes: dict) -> None:
    value = find(namespace, name)
    if _is_empty(value):
        raise Missing(f"`{name}` has no value yet: type your answer and run its cell.")
    if _has_empty_place(value):
        if _has_text(value):
            raise Missing(f"`{name}` has text in it: write numbers, without quotation marks.")
        raise Missing(f"`{name}` still has empty places: put a number in each, and run its cell.")
    if isinstance(value, str):
        notes[name] = value[:LONGEST_TEXT]
        return
    array = as_array(value)
    if isinstance(array, str):
        notes[name] = f"`{name}` should be numbers, but it is {array}."
    else:
        arrays[name] = array


def _read_rows(value, name: str, arrays: dict) -> None:
    if isinstance(value, list | tuple) and len(value) <= MOST_ROWS and _has_empty_place(value):
        is_table = any(isinstance(row, list | tuple) for row in value)
        with contextlib.suppress(TypeError, ValueError):
            rows = [[_number(v) for v in row] for row in (value if is_table else [value])]
            if len({len(row) for row in rows}) > 1:
                raise Missing(f"`{name}` has rows of different lengths.")
            arrays[f"{name}/rows"] = np.array(rows if is_table else rows[0])


def _number(value) -> float:
    """A number that was typed, NaN for an empty place; anything else raises."""
    if _is_empty(value):
        return np.nan
    if isinstance(value, str | bool | np.bool_) or not np.isfinite(float(value)):
        raise ValueError("this is not a number")
    return float(value)


def _has_text(value) -> bool:
    if isinstance(value, list | tuple):
        return any(isinstance(v, str) or _has_text(v) for v in value[:1000])
    return False


def _is_empty(value) -> bool:
    return value is None or value is Ellipsis


def _has_empty_place(value) -> bool:
    if isinstance(value, list | tuple):
        return any(_is_empty(v) or _has_empty_place(v) for v in value[:1000])
    return False
